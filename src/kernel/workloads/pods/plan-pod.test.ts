import { expect, test } from "vitest";
import { formatTime } from "#lib/base/index.ts";
import type { PodObject, PodSpec, PodStatus } from "../pod-types.ts";
import { shellPod } from "../testing/index.ts";
import type { ContainerView, Current } from "./container-view.ts";
import { backoffDelay, type Obstacles, planPod } from "./plan-pod.ts";
import { podStatus } from "./pod-status.ts";

const now = Date.UTC(2026, 0, 1);
const none: Current = { kind: "none" };
const running: Current = { kind: "running", startedAt: now - 1_000, taskId: "t" };
const ended = (exitCode: number, at = now - 1_000, ranFor = 100): Current => ({
  kind: "ended",
  terminated: { exitCode, finishedAt: formatTime(at) },
  at,
  ranFor,
});

const view = (name: string, current: Current, more: Partial<ContainerView> = {}): ContainerView => ({
  container: { name, image: "x" },
  isInit: false,
  restart: 0,
  current,
  previous: undefined,
  ...more,
});

const podOf = (spec: Partial<PodSpec> = {}, status: PodStatus = {}, metadata: object = {}): PodObject => {
  const pod = shellPod("p", "true", spec);
  return { ...pod, metadata: { ...pod.metadata, uid: "u", ...metadata }, status };
};

const free: Obstacles = { acceptedAt: now, blocked: new Map(), calmSince: new Map() };
const plan = (pod: PodObject, views: readonly ContainerView[], obstacles: Partial<Obstacles> = {}) =>
  planPod(pod, views, { ...free, ...obstacles }, now);

test.each([
  ["Never", [ended(0)], "Succeeded"],
  ["Never", [ended(0), ended(1)], "Failed"],
  ["Never", [ended(1), running], "Running"],
  ["Never", [none], "Pending"],
  ["OnFailure", [ended(0), ended(0)], "Succeeded"],
  ["OnFailure", [ended(1)], "Running"],
  ["Always", [ended(0)], "Running"],
] as const)("with restartPolicy %s containers %j make a pod %s", (restartPolicy, currents, phase) => {
  const views = currents.map((current, index) => view(`c${index}`, current));
  expect(plan(podOf({ restartPolicy }), views).phase).toBe(phase);
});

test.each([
  [1, 0],
  [2, 10],
  [3, 20],
  [6, 160],
  [7, 300],
  [500, 300],
])("before the %d. restart in a row a container waits %d s", (restart, seconds) => {
  expect(backoffDelay(restart)).toBe(seconds * 1000);
});

test("a first failure is followed by a new execution at once", () => {
  const { start } = plan(podOf({ restartPolicy: "OnFailure" }), [view("main", ended(1))]);
  expect(start.map(({ restart }) => restart)).toEqual([1]);
});

test("a later one waits, and says until when", () => {
  const { start, waiting, wakeAt } = plan(podOf({ restartPolicy: "OnFailure" }), [
    view("main", ended(1), { restart: 2 }),
  ]);
  expect(start).toEqual([]);
  expect(waiting.get("main")?.reason).toBe("CrashLoopBackOff");
  expect(wakeAt).toBe(now - 1_000 + 20_000);
});

test("restarts before a long quiet run count no more", () => {
  const views = [view("main", ended(1), { restart: 9 })];
  const { start } = plan(podOf({ restartPolicy: "OnFailure" }), views, { calmSince: new Map([["main", 9]]) });
  expect(start.map(({ restart }) => restart)).toEqual([10]);
});

test("init containers go one by one, and the others wait for them", () => {
  const inits = [view("a", ended(0), { isInit: true }), view("b", none, { isInit: true })];
  const { start, waiting, phase } = plan(podOf(), [...inits, view("main", none)]);
  expect(start.map(({ view }) => view.container.name)).toEqual(["b"]);
  expect(waiting.get("main")).toEqual({ reason: "PodInitializing" });
  expect(phase).toBe("Pending");
});

test("a blocked container is not started and says why", () => {
  const reason = { reason: "CreateContainerConfigError", message: "no map" };
  const { start, waiting } = plan(podOf(), [view("main", none)], { blocked: new Map([["main", reason]]) });
  expect(start).toEqual([]);
  expect(waiting.get("main")).toEqual(reason);
});

test("a refused pod fails without having run", () => {
  expect(plan(podOf(), [view("main", none)], { refused: "cannot" })).toMatchObject({
    phase: "Failed",
    reason: "UnsupportedPod",
    message: "cannot",
    start: [],
  });
});

test("a deadline counts from the pod's start, ends what runs and keeps it from starting again", () => {
  const pod = podOf(
    { activeDeadlineSeconds: 30, restartPolicy: "Always" },
    { startTime: formatTime(now - 30_000), phase: "Running" },
  );
  const late = plan(pod, [view("main", running)]);
  expect(late.stop.map(({ grace }) => grace)).toEqual([30_000]);
  expect(late.phase).toBe("Running");
  expect(plan(pod, [view("main", ended(143))])).toMatchObject({
    phase: "Failed",
    reason: "DeadlineExceeded",
    start: [],
  });
  const early = podOf({ activeDeadlineSeconds: 31 }, { startTime: formatTime(now - 30_000) });
  expect(plan(early, [view("main", running)]).wakeAt).toBe(now + 1_000);
});

test("a deleted pod gets what is left of its grace, and nothing starts", () => {
  const deleted = podOf(
    {},
    { phase: "Running" },
    { deletionTimestamp: formatTime(now + 12_000), deletionGracePeriodSeconds: 30 },
  );
  const { stop, start } = plan(deleted, [view("a", running), view("b", none)]);
  expect(stop.map(({ view, grace }) => [view.container.name, grace])).toEqual([["a", 12_000]]);
  expect(start).toEqual([]);
  expect(plan(deleted, [view("a", ended(143)), view("b", ended(0))]).phase).toBe("Failed");
  expect(plan(deleted, [view("a", ended(0))]).phase).toBe("Succeeded");
});

test("a finished pod stays as it is, whatever is said of its containers", () => {
  const finished = podOf({ restartPolicy: "Always" }, { phase: "Failed", reason: "DeadlineExceeded" });
  expect(plan(finished, [view("main", none)])).toMatchObject({
    phase: "Failed",
    reason: "DeadlineExceeded",
    start: [],
  });
});

const statusFor = (pod: PodObject, views: readonly ContainerView[]) =>
  podStatus({ pod, views, plan: plan(pod, views), runtimeName: "process", address: "127.0.0.1", acceptedAt: now, now });

const condition = (status: PodStatus, type: string) => status.conditions?.find((one) => one.type === type);

test("a running pod is ready, and its times do not move while nothing changes", () => {
  const views = [view("main", running)];
  const status = statusFor(podOf(), views);
  expect(status).toMatchObject({ phase: "Running", startTime: formatTime(now), hostIP: "127.0.0.1" });
  expect(
    ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => condition(status, type)?.status),
  ).toEqual(["True", "True", "True", "True"]);
  const later = podStatus({
    pod: podOf({}, status),
    views,
    plan: plan(podOf(), views),
    runtimeName: "process",
    address: "127.0.0.1",
    acceptedAt: now + 5_000,
    now: now + 5_000,
  });
  expect(later).toEqual(status);
});

test("a completed pod is not ready because it is completed", () => {
  const status = statusFor(podOf(), [view("main", ended(0))]);
  expect(condition(status, "Ready")).toMatchObject({ status: "False", reason: "PodCompleted" });
  expect(condition(status, "Initialized")).toMatchObject({ status: "True", reason: "PodCompleted" });
});

test("while a container waits for its restart its end is the last state", () => {
  const status = statusFor(podOf({ restartPolicy: "Always" }), [view("main", ended(3), { restart: 4 })]);
  expect(status.containerStatuses?.[0]).toMatchObject({
    state: { waiting: { reason: "CrashLoopBackOff" } },
    lastState: { terminated: { exitCode: 3 } },
    restartCount: 4,
    ready: false,
  });
});

test("conditions of others are kept", () => {
  const foreign = { type: "example.com/gate", status: "True", lastTransitionTime: formatTime(now) } as const;
  expect(condition(statusFor(podOf({}, { conditions: [foreign] }), [view("main", running)]), foreign.type)).toEqual(
    foreign,
  );
});
