import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { temporaryDirectory, createFakeRuntime, type FakeRuntime } from "#kernel/runtimes/testing/index.ts";
import type { ContainerStatus, PodObject, PodSpec } from "../pod-types.ts";
import { shellPod } from "../testing/index.ts";
import { createPodLogs, type PodLogRequest } from "./pod-logs.ts";
import { podPaths, taskId } from "./pod-paths.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let clock: FakeClock;
let runtime: FakeRuntime;
beforeEach(async () => {
  directory = await temporaryDirectory();
  clock = new FakeClock(Date.UTC(2026, 0, 1));
  runtime = createFakeRuntime({ clock });
});
afterEach(() => directory.remove());

function podWith(spec: Partial<PodSpec> = {}, status?: Partial<ContainerStatus>): PodObject {
  const pod = shellPod("p", "true", spec);
  const containerStatuses = [
    {
      name: "main",
      state: {},
      lastState: {},
      ready: false,
      started: false,
      restartCount: 0,
      image: "",
      imageID: "",
      ...status,
    },
  ];
  return { ...pod, metadata: { ...pod.metadata, uid: "u" }, status: status === undefined ? {} : { containerStatuses } };
}

/** Runs one execution of `main` to its end, printing a line. */
async function execute(pod: PodObject, restart: number, text: string): Promise<void> {
  const id = taskId("u", "main", restart);
  const logPath = podPaths(directory.path, pod).log("main", restart);
  await runtime.start({ id, command: ["x"], env: {}, workingDirectory: "/", logPath });
  runtime.print(id, text);
  await runtime.exit(id, 0);
}

const open = (pod: PodObject, request: PodLogRequest = {}) =>
  createPodLogs({ directory: directory.path, runtime, clock }).open(pod, request);

async function textOf(pod: PodObject, request: PodLogRequest = {}): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of await open(pod, request)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("the newest execution is shown before its status is written", async () => {
  const pod = podWith();
  await execute(pod, 0, "first\n");
  await execute(pod, 1, "second\n");
  expect(await textOf(pod)).toBe("second\n");
  expect(await textOf(pod, { previous: true })).toBe("first\n");
});

test("the log of a pod that ended long ago is found by its status alone", async () => {
  const pod = podWith({}, { state: { terminated: { exitCode: 0 } } });
  await execute(pod, 0, "kept\n");
  runtime = createFakeRuntime({ clock });
  expect(await textOf(pod, { follow: true })).toBe("kept\n");
});

test("a container that has not started is refused with its reason", async () => {
  await expect(open(podWith())).rejects.toThrow('container "main" in pod "p" is waiting to start: ContainerCreating');
  const waiting = podWith({}, { state: { waiting: { reason: "PodInitializing" } } });
  await expect(open(waiting)).rejects.toMatchObject({ code: 400, message: expect.stringContaining("PodInitializing") });
});

test("there is no previous execution of a container that never restarted", async () => {
  const pod = podWith();
  await execute(pod, 0, "only\n");
  await expect(open(pod, { previous: true })).rejects.toThrow(
    'previous terminated container "main" in pod "p" not found',
  );
});

test("several containers need a name, and the names are told", async () => {
  const container = (name: string) => ({ name, image: "x", command: ["x"] });
  const pod = podWith({ containers: [container("main"), container("side")], initContainers: [container("prepare")] });
  await expect(open(pod)).rejects.toThrow("choose one of: [prepare main side]");
  await expect(open(pod, { container: "other" })).rejects.toThrow("container other is not valid for pod p");
  await execute(pod, 0, "named\n");
  expect(await textOf(pod, { container: "main" })).toBe("named\n");
});

test("one of the two outputs is shown when it is asked for", async () => {
  const pod = podWith();
  await execute(pod, 0, "printed\n");
  expect(await textOf(pod, { stream: "stdout" })).toBe("printed\n");
  expect(await textOf(pod, { stream: "stderr" })).toBe("");
});

test("times limit what is shown, and a malformed one is refused", async () => {
  const pod = podWith();
  await execute(pod, 0, "old\n");
  await clock.advance(60_000);
  expect(await textOf(pod, { sinceSeconds: 30 })).toBe("");
  expect(await textOf(pod, { sinceSeconds: 90 })).toBe("old\n");
  expect(await textOf(pod, { sinceTime: "2026-01-01T00:00:00Z", timestamps: true })).toBe(
    "2026-01-01T00:00:00.000000000Z old\n",
  );
  await expect(open(pod, { sinceTime: "yesterday" })).rejects.toThrow("sinceTime must be a time");
});
