import { join } from "node:path";
import { type Clock, type Logger, silentLog, systemClock } from "#lib/base/index.ts";
import { ArtifactStore } from "#kernel/artifacts/index.ts";
import { type ApiClient, Manager } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import type { KubeObject, ResourceType, Stored } from "#kernel/model/index.ts";
import type { Runtime, PodSessions } from "#kernel/runtimes/index.ts";
import type { JobObject, JobSpec } from "../job-types.ts";
import type { PodObject, PodSpec } from "../pod-types.ts";
import { addPodRunner, type PodRunnerOptions } from "../pods/add-pod-runner.ts";
import type { Node } from "../pods/pod-fields.ts";

export const testNode: Node = {
  name: "test-node",
  address: "127.0.0.1",
  labels: { "kubernetes.io/hostname": "test-node" },
  cpus: 4,
  memoryBytes: 8 * 2 ** 30,
};

/** A Job with one container that runs a shell script, with the defaults the API server would fill in. */
export const shellJob = (name: string, script: string, more: Partial<JobSpec> = {}): JobObject => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name, namespace: "default" },
  spec: { parallelism: 1, completions: 1, backoffLimit: 6, template: { spec: shellPod(name, script).spec }, ...more },
});

/** A pod with one container that runs a shell script. */
export const shellPod = (name: string, script: string, more: Partial<PodSpec> = {}): PodObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default" },
  spec: {
    restartPolicy: "Never",
    containers: [{ name: "main", image: "busybox", command: ["/bin/sh", "-c", script] }],
    ...more,
  },
});

type Holds<T extends KubeObject> = (object: Stored<T> | undefined) => boolean;

export interface Bench {
  readonly client: MemoryClient;
  readonly manager: Manager;
  /** Starts what was added. */
  start(): void;
  /** The object when the condition holds, undefined when it holds of its absence; watches, does not poll. */
  until<T extends KubeObject>(type: ResourceType, name: string, holds: Holds<T>): Promise<Stored<T> | undefined>;
  close(): Promise<void>;
}

export interface BenchOptions {
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly client?: MemoryClient;
}

/** An API in memory and a manager, without controllers. */
export function bench(options: BenchOptions = {}): Bench {
  const clock = options.clock ?? systemClock;
  const client = options.client ?? memoryClient({ clock });
  const log = options.log ?? silentLog;
  const manager = new Manager({ client, clock, log, random: () => 0.5 });
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  return {
    client,
    manager,
    start() {
      running = manager.run(stop.signal);
    },
    until: (type, name, holds) => untilObject(client, type, name, holds),
    async close() {
      stop.abort();
      await running;
    },
  };
}

async function untilObject<T extends KubeObject>(
  client: ApiClient,
  type: ResourceType,
  name: string,
  holds: Holds<T>,
): Promise<Stored<T> | undefined> {
  const end = new AbortController();
  const list = await client.list<T>(type, { namespace: "default" });
  const present = list.items.find(({ metadata }) => metadata.name === name);
  if (holds(present)) return present;
  const { resourceVersion } = list.metadata;
  for await (const event of client.watch<T>(type, { namespace: "default", resourceVersion, signal: end.signal })) {
    if (event.type === "BOOKMARK" || event.object.metadata.name !== name) continue;
    const object = event.type === "DELETED" ? undefined : event.object;
    if (!holds(object)) continue;
    end.abort();
    return object;
  }
  throw new Error("the watch ended");
}

/** A pod runner on `runtime` whose things are under `directory`. */
export const addTestPodRunner = (
  manager: Manager,
  runtime: Runtime,
  directory: string,
  more: Partial<PodRunnerOptions> = {},
): PodSessions =>
  addPodRunner(manager, {
    runtime,
    directory: join(directory, "pods-root"),
    volumes: join(directory, "volumes"),
    node: testNode,
    environment: { PATH: "/usr/local/bin:/usr/bin:/bin" },
    isRoot: process.getuid?.() === 0,
    artifacts: new ArtifactStore({ directory: join(directory, "artifacts"), clock: manager.clock }),
    ...more,
  });
