import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { Pod, type Stored } from "#kernel/model/index.ts";
import { createFakeRuntime, type FakeRuntime } from "#kernel/runtimes/index.ts";
import { temporaryDirectory } from "#kernel/runtimes/testing/index.ts";
import type { PodObject, PodSpec } from "../pod-types.ts";
import { addTestPodRunner, bench, type Bench, shellPod } from "../testing/index.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let clock: FakeClock;
let runtime: FakeRuntime;
let place: Bench;

beforeEach(async () => {
  directory = await temporaryDirectory();
  clock = new FakeClock();
  runtime = createFakeRuntime({ clock, ignoresTerm: ({ command }) => command.includes("stubborn") });
  place = bench({ clock, client: memoryClient({ clock }) });
  addTestPodRunner(place.manager, runtime, directory.path);
  place.start();
});
afterEach(async () => {
  const closed = place.close();
  await clock.advance(20_000);
  await closed;
  await directory.remove();
});

type Condition = (pod: Stored<PodObject> | undefined) => boolean;

/** Moves the clock in small steps until the condition holds: files are read in between, which no clock can hurry. */
async function until(name: string, holds: Condition, step = 50): Promise<Stored<PodObject> | undefined> {
  for (;;) {
    const { items } = await place.client.list<PodObject>(Pod, { namespace: "default" });
    const pod = items.find(({ metadata }) => metadata.name === name);
    if (holds(pod)) return pod;
    await clock.advance(step);
  }
}

const startedTask = async (id: string): Promise<void> => {
  while (!runtime.started.some((task) => task.id === id)) await clock.advance(10);
};

async function create(name: string, spec: Partial<PodSpec> = {}): Promise<string> {
  const { metadata } = await place.client.create(Pod, shellPod(name, "sleep", spec));
  return metadata.uid;
}

const mainOf = (pod: Stored<PodObject> | undefined) => pod?.status?.containerStatuses?.[0];
const phaseIs =
  (phase: string): Condition =>
  (pod) =>
    pod?.status?.phase === phase;

test("a container that fails is restarted at once, then after 10 s, then 20 s", async () => {
  const uid = await create("crashing", { restartPolicy: "OnFailure" });
  await startedTask(`${uid}/main/0`);
  await runtime.exit(`${uid}/main/0`, 1);
  await startedTask(`${uid}/main/1`);
  await runtime.exit(`${uid}/main/1`, 1);
  const ended = clock.now();
  const waiting = await until("crashing", (pod) => mainOf(pod)?.state.waiting?.reason === "CrashLoopBackOff", 10);
  expect(mainOf(waiting)).toMatchObject({
    state: { waiting: { message: "back-off 10s restarting failed container=main" } },
    lastState: { terminated: { exitCode: 1, reason: "Error" } },
    restartCount: 1,
  });
  await startedTask(`${uid}/main/2`);
  expect(clock.now() - ended).toBeGreaterThanOrEqual(10_000);
  await runtime.exit(`${uid}/main/2`, 1);
  const again = clock.now();
  await startedTask(`${uid}/main/3`);
  expect(clock.now() - again).toBeGreaterThanOrEqual(20_000);
  await runtime.exit(`${uid}/main/3`, 0);
  const over = await until("crashing", phaseIs("Succeeded"));
  expect(mainOf(over)).toMatchObject({ restartCount: 3, state: { terminated: { exitCode: 0 } } });
});

test("a container that ran ten minutes is restarted at once", async () => {
  const uid = await create("calm", { restartPolicy: "Always" });
  await startedTask(`${uid}/main/0`);
  await runtime.exit(`${uid}/main/0`, 1);
  await startedTask(`${uid}/main/1`);
  await clock.advance(600_000);
  await runtime.exit(`${uid}/main/1`, 1);
  const ended = clock.now();
  await startedTask(`${uid}/main/2`);
  expect(clock.now() - ended).toBeLessThan(5_000);
});

test("a pod past its deadline is ended and failed", async () => {
  const uid = await create("slow", { activeDeadlineSeconds: 60, terminationGracePeriodSeconds: 5 });
  await startedTask(`${uid}/main/0`);
  const pod = await until("slow", phaseIs("Failed"), 1_000);
  expect(pod?.status).toMatchObject({ reason: "DeadlineExceeded" });
  expect(runtime.stops).toEqual([{ id: `${uid}/main/0`, grace: 5_000 }]);
});

test("the grace of a deletion counts from the request, and a shorter one replaces it", async () => {
  const container = { name: "main", image: "x", command: ["stubborn"] };
  const uid = await create("stubborn", { containers: [container], terminationGracePeriodSeconds: 30 });
  await until("stubborn", phaseIs("Running"));
  const ref = { type: Pod, namespace: "default", name: "stubborn" };
  await place.client.delete(ref);
  while (runtime.stops.length === 0) await clock.advance(10);
  expect(runtime.stops[0]?.grace).toBeGreaterThan(28_000);
  await place.client.delete(ref, { gracePeriodSeconds: 5 });
  while (runtime.stops.length < 2) await clock.advance(10);
  expect(runtime.stops[1]?.grace).toBeLessThanOrEqual(5_000);
  await until("stubborn", (pod) => pod === undefined, 1_000);
  expect(runtime.find(`${uid}/main/0`)).toBeUndefined();
});

test("containers of one pod run side by side; the pod ends with the last of them", async () => {
  const container = (name: string) => ({ name, image: "x", command: ["x"] });
  const uid = await create("two", { containers: [container("a"), container("b")] });
  await startedTask(`${uid}/a/0`);
  await startedTask(`${uid}/b/0`);
  await runtime.exit(`${uid}/a/0`, 0);
  const half = await until("two", (pod) => mainOf(pod)?.state.terminated !== undefined);
  expect(half?.status).toMatchObject({ phase: "Running" });
  expect(half?.status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({
    status: "False",
    reason: "ContainersNotReady",
    message: "containers with unready status: [a]",
  });
  await runtime.exit(`${uid}/b/0`, 5);
  const over = await until("two", phaseIs("Failed"));
  expect(over?.status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({
    status: "False",
    reason: "PodFailed",
  });
});

test("a lost container is an error with the runtime's words, and a policy may start another", async () => {
  const uid = await create("lost", { restartPolicy: "OnFailure" });
  await startedTask(`${uid}/main/0`);
  runtime.lose(`${uid}/main/0`);
  await startedTask(`${uid}/main/1`);
  await runtime.exit(`${uid}/main/1`, 0);
  const pod = await until("lost", phaseIs("Succeeded"));
  expect(mainOf(pod)?.lastState.terminated).toMatchObject({
    exitCode: 137,
    reason: "Error",
    message: "lost by the test",
  });
});

test("a container whose record is gone is an error, not a second run", async () => {
  const uid = await create("forgotten");
  await startedTask(`${uid}/main/0`);
  await until("forgotten", phaseIs("Running"));
  const { client } = place;
  const closed = place.close();
  await clock.advance(20_000);
  await closed;
  runtime = createFakeRuntime({ clock });
  place = bench({ clock, client });
  addTestPodRunner(place.manager, runtime, directory.path);
  place.start();
  const pod = await until("forgotten", phaseIs("Failed"));
  expect(mainOf(pod)?.state.terminated).toMatchObject({
    exitCode: 137,
    reason: "Error",
    message: "the fake runtime has no record of it any more",
  });
  expect(runtime.started).toEqual([]);
});

test("a runtime that fails is tried again, and the pod is not lost", async () => {
  runtime.failStarts(new Error("no runner"));
  const uid = await create("later");
  await clock.advance(100);
  expect(runtime.started).toEqual([]);
  runtime.failStarts(undefined);
  await startedTask(`${uid}/main/0`);
  await runtime.exit(`${uid}/main/0`, 0);
  await until("later", phaseIs("Succeeded"));
  expect(runtime.started).toHaveLength(1);
});

test("without a message a failed container may speak by the end of its log", async () => {
  const container = { name: "main", image: "x", command: ["x"], terminationMessagePolicy: "FallbackToLogsOnError" };
  const uid = await create("talks", { containers: [container] });
  await startedTask(`${uid}/main/0`);
  runtime.print(`${uid}/main/0`, `${"x".repeat(3_000)}\nthe end\n`);
  await runtime.exit(`${uid}/main/0`, 1);
  const message = mainOf(await until("talks", phaseIs("Failed")))?.state.terminated?.message ?? "";
  expect(message.endsWith("the end\n")).toBe(true);
  expect(message).toHaveLength(2_048);
});

test("a message is cut at 4 KiB", async () => {
  const uid = await create("long");
  await startedTask(`${uid}/main/0`);
  await writeFile(join(directory.path, "pods-root", "pods", uid, "output", "main", "0"), "y".repeat(9_000));
  await runtime.exit(`${uid}/main/0`, 0);
  const message = mainOf(await until("long", phaseIs("Succeeded")))?.state.terminated?.message;
  expect(message).toBe("y".repeat(4_096));
});

test("logs stay after their pod is gone, until their time is over", async () => {
  const uid = await create("kept");
  await startedTask(`${uid}/main/0`);
  runtime.print(`${uid}/main/0`, "words\n");
  await runtime.exit(`${uid}/main/0`, 0);
  await until("kept", phaseIs("Succeeded"));
  const log = join(directory.path, "pods-root", "logs", "default", "kept", uid, "main", "0.log");
  await place.client.delete({ type: Pod, namespace: "default", name: "kept" });
  await until("kept", (pod) => pod === undefined);
  await clock.advance(500_000);
  await access(log);
  for (;;) {
    const isThere = await access(log).then(
      () => true,
      () => false,
    );
    if (!isThere) break;
    await clock.advance(20_000);
  }
});
