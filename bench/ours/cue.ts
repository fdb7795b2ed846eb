import { systemClock } from "#lib/base/index.ts";
import { createCue, type Cue, TemplateHost } from "#kernel/template/index.ts";
import { withCpu } from "../harness/candidates.ts";
import { closedLoop } from "../harness/closed-loop.ts";
import type { Measured } from "../harness/types.ts";

// One CUE step, from a text and its data to the value of its object: for the first time in the process, with other data each
// time, and with equal data each time. Without imports, because the peer knows none.

const text = `parameter: {
	image: string
	replicas: *1 | int
	ports: [...{port: int, expose: *false | bool}]
	env: [string]: string
	cpu?: string
}
context: {name: string, ...}
output: {
	apiVersion: "apps/v1"
	kind:       "Deployment"
	metadata: name: context.name
	spec: {
		replicas: parameter.replicas
		selector: matchLabels: "app.oam.dev/component": context.name
		template: {
			metadata: labels: "app.oam.dev/component": context.name
			spec: containers: [{
				name:  context.name
				image: parameter.image
				ports: [for p in parameter.ports {containerPort: p.port, name: "port-\\(p.port)"}]
				env: [for k, v in parameter.env {name: k, value: v}]
				if parameter.cpu != _|_ {
					resources: limits: cpu: parameter.cpu
				}
			}]
		}
	}
}
outputs: service: {
	apiVersion: "v1"
	kind:       "Service"
	spec: ports: [for p in parameter.ports if p.expose {port: p.port, targetPort: p.port}]
}
`;

export interface CueQuestion {
  readonly text: string;
  readonly parameter: { readonly image: string };
}

/** Differs in the image by number. */
export const questionOf = (at: number) => ({
  text,
  parameter: {
    image: `registry.example.org/web:${at}`,
    replicas: 3,
    ports: [
      { port: 80, expose: true },
      { port: 9090, expose: false },
    ],
    env: { A: "1", B: "2", C: "3" },
    cpu: "500m",
  },
  context: { name: "web", namespace: "default", appName: "app" },
});

interface Rendered {
  readonly output?: {
    readonly spec?: { readonly template?: { readonly spec?: { readonly containers?: readonly { image?: string }[] } } };
  };
}

/** Throws unless this is the answer to the question of the number. */
export function checkCue(rendered: Rendered, at: number): void {
  const image = rendered.output?.spec?.template?.spec?.containers?.[0]?.image;
  if (image !== `registry.example.org/web:${at}`) throw new Error(`the image is ${image}, not number ${at}`);
}

export type CueLoadKind = "first" | "warm" | "repeated";

export interface CueLoad {
  readonly ms: number;
  readonly program: string;
  readonly artifact: string;
  readonly kind: CueLoadKind;
}

/** Evaluations before a warm one counts. */
export const warmUp = 200;

export async function run({ ms, kind, ...files }: CueLoad): Promise<Measured> {
  const host = new TemplateHost({ ...files, clock: systemClock, limits: { maxThreads: 1 } });
  const cue = createCue({ templates: host, packages: {}, budgetMs: 20_000 });
  let at = 0;
  const one = () => render(cue, kind === "repeated" ? 0 : at++);
  try {
    if (kind !== "first") for (let done = 0; done < warmUp; done++) await one();
    return await withCpu([process.pid], () => closedLoop({ ms: kind === "first" ? 0 : ms, inFlight: 1 }, one));
  } finally {
    await host.close();
  }
}

async function render(cue: Cue, at: number): Promise<void> {
  const rendered = await cue.render(questionOf(at));
  if (!rendered.ok) throw new Error(rendered.error.message);
  checkCue(rendered.value, at);
}
