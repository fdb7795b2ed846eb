import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { ConfigMap, Event, type KubeObject, Pod, Secret, type Stored } from "#kernel/model/index.ts";
import type { Runtime } from "#kernel/runtimes/index.ts";
import { temporaryDirectory, testRuntime } from "#kernel/runtimes/testing/index.ts";
import { isFinished, type PodObject } from "../pod-types.ts";
import { addTestPodRunner, bench, type Bench, shellPod } from "../testing/index.ts";
import { createPodLogs } from "./pod-logs.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let runtime: Runtime;
let place: Bench;

beforeEach(async () => {
  directory = await temporaryDirectory();
  runtime = await testRuntime(directory.path);
  place = bench();
  addTestPodRunner(place.manager, runtime, directory.path);
  place.start();
});
afterEach(async () => {
  await place.close();
  await runtime.close({ stopTasks: 0 });
  await directory.remove();
});

const logs = () => createPodLogs({ directory: join(directory.path, "pods-root"), runtime, clock: systemClock });

async function logOf(pod: KubeObject, options = {}): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of await logs().open(pod, options)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

async function run(pod: PodObject): Promise<Stored<PodObject>> {
  await place.client.create(Pod, pod);
  const ended = await place.until<PodObject>(
    Pod,
    pod.metadata.name ?? "",
    (one) => one !== undefined && isFinished(one),
  );
  if (ended === undefined) throw new Error("the pod is gone");
  return ended;
}

const reasons = async (): Promise<readonly string[]> => {
  const { items } = await place.client.list(Event);
  return items.map((event) => String(Reflect.get(event, "reason")));
};

test("a pod echoes, succeeds, and its log is read back", async () => {
  const pod = await run(shellPod("hello", "echo hello; echo world >&2"));
  expect(pod.status).toMatchObject({
    phase: "Succeeded",
    containerStatuses: [{ name: "main", state: { terminated: { exitCode: 0, reason: "Completed" } }, restartCount: 0 }],
  });
  expect(pod.spec.nodeName).toBe("test-node");
  expect((await logOf(pod)).split("\n").sort()).toEqual(["", "hello", "world"]);
});
