import { access, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { temporaryDirectory, createFakeRuntime, type FakeRuntime } from "#kernel/runtimes/testing/index.ts";
import type { PodObject } from "../pod-types.ts";
import { shellPod } from "../testing/index.ts";
import { PodCleaner } from "./pod-cleaner.ts";
import { podPaths, taskId } from "./pod-paths.ts";

const logRetention = 600_000;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let clock: FakeClock;
let runtime: FakeRuntime;
let cleaner: PodCleaner;
beforeEach(async () => {
  directory = await temporaryDirectory();
  clock = new FakeClock();
  runtime = createFakeRuntime({ clock, ignoresTerm: () => true });
  cleaner = new PodCleaner({ runtime, directory: directory.path, clock, log: silentLog, logRetention });
});
afterEach(async () => {
  cleaner.close();
  await directory.remove();
});

function podOf(name: string, uid: string): PodObject {
  const pod = shellPod(name, "true");
  return { ...pod, metadata: { ...pod.metadata, uid } };
}

/** A pod with files, a log and a task that runs. */
async function begin(name: string, uid: string): Promise<PodObject> {
  const pod = podOf(name, uid);
  const paths = podPaths(directory.path, pod);
  await mkdir(paths.volume("v"), { recursive: true });
  await mkdir(join(paths.logs, "main"), { recursive: true });
  await writeFile(paths.log("main", 0), "words");
  await runtime.start({
    id: taskId(uid, "main", 0),
    command: ["x"],
    env: {},
    workingDirectory: "/",
    logPath: paths.log("main", 0),
  });
  return pod;
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
const paths = (pod: PodObject) => podPaths(directory.path, pod);

/** Files go in their own time, which no clock hurries. */
const goes = (path: string) => expect.poll(() => isThere(path)).toBe(false);

test("of a pod that has ended its logs stay, and nothing else", async () => {
  const pod = await begin("p", "u");
  await runtime.exit("u/main/0", 0);
  await cleaner.settle(pod);
  expect(runtime.find("u/main/0")).toBeUndefined();
  expect(await isThere(paths(pod).pod)).toBe(false);
  await clock.advance(10 * logRetention);
  expect(await isThere(paths(pod).log("main", 0))).toBe(true);
});

test("settling again, or what was never there, is no error", async () => {
  const pod = podOf("p", "u");
  await cleaner.settle(pod);
  await cleaner.settle(pod);
});

test("what runs of a pod that is gone is killed, and its files wait for the end", async () => {
  const pod = await begin("p", "u");
  const forgotten = cleaner.forget("u", paths(pod).logs);
  await forgotten;
  expect(runtime.stops).toEqual([{ id: "u/main/0", grace: 0 }]);
  await expect.poll(() => runtime.find("u/main/0")).toBeUndefined();
  await goes(paths(pod).pod);
});

test("its logs go after their retention, with the directory of its name", async () => {
  const pod = await begin("p", "u");
  await cleaner.forget("u", paths(pod).logs);
  await clock.advance(logRetention - 1);
  expect(await isThere(paths(pod).log("main", 0))).toBe(true);
  await clock.advance(1);
  await goes(join(directory.path, "logs", "default", "p"));
  expect(await readdir(join(directory.path, "logs", "default"))).toEqual([]);
});

test("the logs of many pods wait for one timer, each for its whole retention", async () => {
  const timers = vi.spyOn(clock, "after");
  const pods = await Promise.all(["a", "b", "c"].map((name) => begin(name, name)));
  for (const pod of pods) {
    await cleaner.forget(pod.metadata.uid ?? "", paths(pod).logs);
    await clock.advance(1000);
  }
  expect(timers.mock.calls.filter(([delay]) => delay > 1000)).toHaveLength(1);
  await clock.advance(logRetention - 3001);
  for (const [index, pod] of pods.entries()) {
    expect(await isThere(paths(pod).logs)).toBe(true);
    await clock.advance(index === 0 ? 1 : 1000);
    await goes(paths(pod).logs);
  }
});

test("the logs of another pod of its name stay where they are", async () => {
  const first = await begin("p", "first");
  const second = await begin("p", "second");
  await cleaner.forget("first", paths(first).logs);
  await clock.advance(logRetention);
  await goes(paths(first).logs);
  expect(await isThere(paths(second).log("main", 0))).toBe(true);
  expect(runtime.find("second/main/0")?.state.phase).toBe("running");
});

test("a pod without logs leaves none to remove", async () => {
  await begin("p", "u");
  await cleaner.forget("u", undefined);
  await clock.advance(10 * logRetention);
  expect(await isThere(join(directory.path, "logs", "default", "p", "u"))).toBe(true);
});

test("what an earlier process left of pods that are gone is removed, what is known is kept", async () => {
  const known = await begin("known", "known");
  const stranger = await begin("stranger", "stranger");
  await mkdir(join(directory.path, "pods", "files-only"), { recursive: true });
  const logsOnly = join(directory.path, "logs", "other", "gone", "logs-only");
  await mkdir(logsOnly, { recursive: true });
  await cleaner.forgetStrangers((uid) => uid === "known");
  await expect.poll(async () => (await runtime.list()).map(({ id }) => id)).toEqual(["known/main/0"]);
  await goes(join(directory.path, "pods", "files-only"));
  await goes(paths(stranger).pod);
  expect(await isThere(paths(known).pod)).toBe(true);
  expect(await isThere(logsOnly)).toBe(true);
  await clock.advance(logRetention);
  await goes(logsOnly);
  await goes(paths(stranger).logs);
  expect(await isThere(paths(known).log("main", 0))).toBe(true);
});

test("a first start has nothing to remove", async () => {
  await cleaner.forgetStrangers(() => false);
  expect(await readdir(directory.path)).toEqual([]);
});

test("a closed cleaner removes nothing any more", async () => {
  const pod = await begin("p", "u");
  await runtime.exit("u/main/0", 0);
  await cleaner.forget("u", paths(pod).logs);
  cleaner.close();
  await clock.advance(10 * logRetention);
  expect(await isThere(paths(pod).log("main", 0))).toBe(true);
});
