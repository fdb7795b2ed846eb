import { silentLog, sleep, systemClock } from "#lib/base/index.ts";
import { type ApiClient, createHttpClient, loadKubeconfig } from "#kernel/kit/index.ts";
import { ConfigMap, type ResourceType, type Stored } from "#kernel/model/index.ts";
import type { Measured } from "../harness/types.ts";

// V1: applications of five steps, each of which applies a component that is a ConfigMap.

export interface ApplicationsLoad {
  readonly kubeconfig: string;
  readonly applications: number;
}

const stepsEach = 5;
const apiVersion = "core.oam.dev/v1beta1";
const patienceMs = 600_000;
/** Requests in flight. */
const inFlight = 8;

const component = (app: string, at: number) => ({
  name: `${app}-c${at}`,
  type: "k8s-objects",
  properties: {
    objects: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${app}-c${at}` }, data: { a: `${at}` } }],
  },
});

const application = (name: string) => ({
  apiVersion,
  kind: "Application",
  metadata: { name, namespace: "default" },
  spec: {
    components: Array.from({ length: stepsEach }, (_, at) => component(name, at)),
    workflow: {
      steps: Array.from({ length: stepsEach }, (_, at) => ({
        name: `s${at}`,
        type: "apply-component",
        properties: { component: `${name}-c${at}` },
      })),
    },
  },
});

interface Status {
  readonly status?: string;
  readonly workflow?: { readonly steps?: readonly { readonly phase: string }[] };
}

const isDone = (object: Stored): boolean => {
  const { status, workflow } = (object as { readonly status?: Status }).status ?? {};
  const phases = workflow?.steps?.map(({ phase }) => phase) ?? [];
  return status === "running" && phases.length === stepsEach && phases.every((phase) => phase === "succeeded");
};

async function deliver(client: ApiClient, type: ResourceType, prefix: string, count: number): Promise<void> {
  let next = 0;
  const create = async () => {
    while (next < count) await client.create(type, application(`${prefix}${next++}`));
  };
  await Promise.all(Array.from({ length: inFlight }, create));
  const end = systemClock.monotonic() + patienceMs;
  for (;;) {
    const { items } = await client.list(type, { namespace: "default" });
    const done = items.filter((item) => item.metadata.name.startsWith(prefix) && isDone(item)).length;
    if (done === count) return;
    if (systemClock.monotonic() > end) throw new Error(`${done} of ${count} applications were delivered`);
    await sleep(systemClock, 250);
  }
}

/** From the first create until the last application is healthy; one application before warms the caches. */
export async function run({ kubeconfig, applications }: ApplicationsLoad): Promise<Omit<Measured, "cpuUs">> {
  const parts = { clock: systemClock, log: silentLog, random: Math.random };
  const connection = await loadKubeconfig({ ...parts, files: [kubeconfig], environment: {} });
  const client = createHttpClient({ ...parts, connection });
  try {
    const type = await client.resourceType(apiVersion, "Application");
    if (type === undefined) throw new Error("the server has no applications");
    await deliver(client, type, "warm", 1);
    const begun = performance.now();
    await deliver(client, type, "app", applications);
    const ms = performance.now() - begun;
    const { items } = await client.list(ConfigMap, { namespace: "default" });
    const applied = items.filter(({ metadata }) => /^app\d+-c\d+$/.test(metadata.name)).length;
    const expected = applications * stepsEach;
    if (applied !== expected) throw new Error(`${applied} objects were applied, expected ${expected}`);
    return { ops: expected, ms };
  } finally {
    await client.close();
  }
}
