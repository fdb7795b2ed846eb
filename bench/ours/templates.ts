import { systemClock } from "#lib/base/index.ts";
import { TemplateHost } from "#kernel/template/index.ts";
import { withCpu } from "../harness/candidates.ts";
import { closedLoop } from "../harness/closed-loop.ts";
import type { Measured } from "../harness/types.ts";

// A template of the usual length, from nothing to its plan, and after a thousand others. Checked by what the last action says.

/** Twelve actions with functions, conditions and texts of several lines. */
const action = (at: number): string => `
      - name: "action ${at}"
        image: quay.io/tinkerbell/actions/writefile:latest
        timeout: 90
        environment:
          DEST_DISK: {{ formatPartition ( index .Hardware.Disks 0 ) ${at} }}
          FS_TYPE: ext4
          MODE: 0644
          CONTENTS: |
            {{- range $at, $line := splitList "," .lines }}
            line {{ $at }}: {{ $line | upper | quote }}
            {{- end }}
          LAST: {{ if eq .last "yes" }}"true"{{ else }}"false"{{ end }}`;

const text = `name: bench
tasks:
  - name: install
    worker: {{ .worker }}
    actions:${Array.from({ length: 12 }, (_, at) => action(at + 1)).join("")}
`;

/** The question, for whoever answers it. */
export const question = {
  id: "bench",
  text,
  values: { worker: "00:00:00:00:00:01", lines: "a,b,c,d,e,f,g,h", last: "yes" },
  hardware: { metadata: { name: "machine" }, spec: { disks: [{ device: "/dev/nvme0n1" }] } },
} as const;

interface Plan {
  readonly tasks: readonly {
    readonly actions: readonly { readonly environment: Readonly<Record<string, string>> }[];
  }[];
}

/** Throws unless this is the plan of the question. */
export function check(plan: Plan): void {
  const disk = plan.tasks[0]?.actions[11]?.environment["DEST_DISK"];
  if (disk !== "/dev/nvme0n1p12") throw new Error(`the last action is for ${disk}`);
}

export interface TemplatesLoad {
  readonly ms: number;
  readonly program: string;
  readonly artifact: string;
  readonly before: number;
}

/** The first template when none come before; else one after the other for `ms`. */
export async function run({ ms, before, ...files }: TemplatesLoad): Promise<Measured> {
  const host = new TemplateHost({ ...files, clock: systemClock });
  const render = async (): Promise<void> => {
    const rendered = await host.render(question);
    if (!rendered.ok) throw new Error(rendered.error.message);
    check(rendered.value);
  };
  try {
    for (let done = 0; done < before; done++) await render();
    return await withCpu([process.pid], () => closedLoop({ ms: before === 0 ? 0 : ms, inFlight: 1 }, render));
  } finally {
    await host.close();
  }
}
