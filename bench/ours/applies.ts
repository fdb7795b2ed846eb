import { silentLog, systemClock } from "#lib/base/index.ts";
import { createApiServer, openStore } from "#kernel/apiserver/index.ts";
import { type ApiClient } from "#kernel/kit/index.ts";
import { Deployment, type KubeObject } from "#kernel/model/index.ts";
import { closedLoop } from "../harness/closed-loop.ts";
import type { Measured } from "../harness/types.ts";

// P10: server-side apply of a Deployment of 20 KB that five managers share. Each declares one container with forty variables and
// changes one of them at every turn. Checked by reading the store after opening it again.

export const managers = 5;
const variables = 40;

const ref = { type: Deployment, namespace: "default", name: "applied" } as const;

interface Applied extends KubeObject {
  readonly metadata: KubeObject["metadata"] & { readonly managedFields?: readonly { readonly manager: string }[] };
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly { readonly env: readonly { readonly value: string }[] }[] };
    };
  };
}

export async function run({ ms, dir }: { readonly ms: number; readonly dir: string }): Promise<Measured> {
  const turns = new Uint32Array(managers);
  const { client, close } = await open(dir);
  const apply = async (manager: number): Promise<void> => {
    const body = declarationOf(manager, (turns[manager] ?? 0) + 1);
    await client.patch(ref, { type: "apply", body }, { fieldManager: `manager-${manager}` });
    turns[manager] = (turns[manager] ?? 0) + 1;
  };
  for (let manager = 0; manager < managers; manager++) await apply(manager);
  const cpu = process.cpuUsage();
  const figures = await closedLoop({ ms, inFlight: 1 }, (id) => apply(id % managers));
  const { user, system } = process.cpuUsage(cpu);
  await close();
  const note = await check(dir, turns);
  return { ...figures, cpuUs: user + system, note };
}

async function open(dir: string): Promise<{ readonly client: ApiClient; readonly close: () => Promise<void> }> {
  const store = await openStore(`${dir}/store`);
  const server = await createApiServer({ store, clock: systemClock, log: silentLog, version: "0.0.0" });
  return {
    client: server.client(),
    close: async () => {
      await server.close();
      await store.close();
    },
  };
}

/** What one manager declares; the first one the rest of the Deployment too. */
export function declarationOf(manager: number, turn: number) {
  const labels = { app: "applied" };
  const env = Array.from({ length: variables }, (_, index) => ({
    name: `VARIABLE_${index}`,
    value: index === turn % variables ? `turn ${turn}` : `${"x".repeat(60)}${index}`,
  }));
  const containers = [{ name: `container-${manager}`, image: `registry.local/app:${manager}`, env }];
  const rest = manager === 0 ? { replicas: 1, selector: { matchLabels: labels } } : {};
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: ref.name, namespace: ref.namespace },
    spec: { ...rest, template: { metadata: manager === 0 ? { labels } : {}, spec: { containers } } },
  };
}

/** Every manager owns its part, and what it applied last is there. */
async function check(dir: string, turns: Uint32Array): Promise<string> {
  const { client, close } = await open(dir);
  const stored = await client.get<Applied>(ref);
  await close();
  const owners = new Set(stored.metadata.managedFields?.map(({ manager }) => manager));
  if (owners.size !== managers) throw new Error(`${owners.size} managers own fields, expected ${managers}`);
  for (const [manager, turn] of turns.entries()) {
    const value = stored.spec.template.spec.containers[manager]?.env[turn % variables]?.value;
    if (value !== `turn ${turn}`) throw new Error(`manager ${manager} has applied turn ${turn}, stored is ${value}`);
  }
  return `${Math.round(JSON.stringify(stored).length / 1024)} KiB with its field owners`;
}
