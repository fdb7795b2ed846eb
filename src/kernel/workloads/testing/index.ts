import { join } from "node:path";
import { type Clock, type Logger, silentLog, systemClock } from "#lib/base/index.ts";
import { type ApiClient, Manager } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { Pod, type Stored } from "#kernel/model/index.ts";
import type { Runtime } from "#kernel/runtimes/index.ts";
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

export interface Bench {
  readonly client: MemoryClient;
  readonly manager: Manager;
  /** Starts what was added. */
  start(): void;
  /** The object when the condition holds; watches, does not poll. */
  until(name: string, holds: (pod: Stored<PodObject> | undefined) => boolean): Promise<Stored<PodObject> | undefined>;
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
    until: (name, holds) => untilPod(client, name, holds),
    async close() {
      stop.abort();
      await running;
    },
  };
}

async function untilPod(
  client: ApiClient,
  name: string,
  holds: (pod: Stored<PodObject> | undefined) => boolean,
): Promise<Stored<PodObject> | undefined> {
  const end = new AbortController();
  const list = await client.list<PodObject>(Pod, { namespace: "default" });
  const present = list.items.find(({ metadata }) => metadata.name === name);
  if (holds(present)) return present;
  const { resourceVersion } = list.metadata;
  for await (const event of client.watch<PodObject>(Pod, {
    namespace: "default",
    resourceVersion,
    signal: end.signal,
  })) {
    if (event.type === "BOOKMARK" || event.object.metadata.name !== name) continue;
    const pod = event.type === "DELETED" ? undefined : event.object;
    if (!holds(pod)) continue;
    end.abort();
    return pod;
  }
  throw new Error("the watch ended");
}

/** A pod runner on `runtime` whose things are under `directory`. */
export const addTestPodRunner = (
  manager: Manager,
  runtime: Runtime,
  directory: string,
  more: Partial<PodRunnerOptions> = {},
): void =>
  addPodRunner(manager, {
    runtime,
    directory: join(directory, "pods-root"),
    node: testNode,
    environment: { PATH: "/usr/local/bin:/usr/bin:/bin" },
    isRoot: process.getuid?.() === 0,
    ...more,
  });
