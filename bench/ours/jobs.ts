import { createFakeRuntime } from "#kernel/runtimes/testing/index.ts";
import { systemClock } from "#lib/base/index.ts";
import { type ApiClient } from "#kernel/kit/index.ts";
import { Job, type KubeObject, Pod } from "#kernel/model/index.ts";
import { type Runtime } from "#kernel/runtimes/index.ts";
import type { Measured } from "../harness/types.ts";
import { startHostPlane } from "./host-plane.ts";

// P11: many Jobs at once, from their creation until a watch has shown the last one complete. Their Pods are host processes, or end
// at once in a runtime that does nothing.

export interface JobsLoad {
  readonly jobs: number;
  readonly isNoop: boolean;
  readonly dir: string;
  readonly runnerPath: string;
}

export async function run({ jobs, isNoop, dir, runnerPath }: JobsLoad): Promise<Measured> {
  const { plane, close } = await startHostPlane(dir, runnerPath, isNoop ? noopRuntime() : undefined);
  const client = plane.server.client();
  const cpu = process.cpuUsage();
  const start = performance.now();
  const complete = completions(client, jobs);
  await Promise.all(Array.from({ length: jobs }, (_, index) => client.create(Job, jobOf(index))));
  await complete;
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  await check(client, jobs);
  await close();
  return { ops: jobs, ms, cpuUs: user + system };
}

function noopRuntime(): Runtime {
  const behave = ({ id }: { readonly id: string }, runtime: ReturnType<typeof createFakeRuntime>) => {
    void runtime.exit(id, 0);
  };
  return createFakeRuntime({ clock: systemClock, behave });
}

const jobOf = (index: number): KubeObject => {
  const containers = [{ name: "only", image: "none", command: ["true"] }];
  const spec = { backoffLimit: 0, template: { spec: { restartPolicy: "Never", containers } } };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: `job-${index}`, namespace: "default" },
    spec,
  };
};

interface JobState extends KubeObject {
  readonly status?: {
    readonly succeeded?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

async function completions(client: ApiClient, expected: number): Promise<void> {
  const done = new Set<string>();
  const stop = new AbortController();
  for await (const { type, object } of client.watch<JobState>(Job, { namespace: "default", signal: stop.signal })) {
    if (type === "BOOKMARK") continue;
    if (hasEnded(object, "Failed")) throw new Error(`Job ${object.metadata.name} has failed`);
    if (hasEnded(object, "Complete")) done.add(object.metadata.name ?? "");
    if (done.size === expected) return stop.abort();
  }
}

const hasEnded = ({ status }: Pick<JobState, "status">, type: string): boolean =>
  status?.conditions?.some((condition) => condition.type === type && condition.status === "True") === true;

/** Every Job has one Pod, which succeeded, and has counted it once. */
async function check(client: ApiClient, expected: number): Promise<void> {
  const jobs = await client.list<JobState>(Job, { namespace: "default" });
  const once = jobs.items.filter(({ status }) => status?.succeeded === 1).length;
  const pods = await client.list<KubeObject & { readonly status?: { readonly phase?: string } }>(Pod);
  const succeeded = pods.items.filter(({ status }) => status?.phase === "Succeeded").length;
  if (once !== expected || succeeded !== expected || pods.items.length !== expected)
    throw new Error(`${once} of ${expected} Jobs have succeeded once, with ${succeeded} of ${pods.items.length} Pods`);
}
