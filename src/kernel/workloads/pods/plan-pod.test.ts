import { expect, test } from "vitest";
import { formatTime } from "#lib/base/index.ts";
import type { PodObject, PodSpec, PodStatus } from "../pod-types.ts";
import { shellPod } from "../testing/index.ts";
import type { ContainerView, Current } from "./container-view.ts";
import { plainHealth } from "./health-keeper.ts";
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

test("one that could not be run at all says why while it waits", () => {
  const missing = { exitCode: 127, reason: "ContainerCannotRun", message: "program x was not found" };
  const current: Current = { kind: "ended", terminated: missing, at: now - 1_000, ranFor: 0 };
  const { waiting, wakeAt } = plan(podOf({ restartPolicy: "OnFailure" }), [view("main", current, { restart: 2 })]);
  expect(waiting.get("main")).toEqual({ reason: "RunContainerError", message: "program x was not found" });
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

const sidecar = (name: string, current: Current, more: Partial<ContainerView> = {}): ContainerView =>
  view(name, current, { container: { name, image: "x", restartPolicy: "Always" }, isInit: true, ...more });
const names = (list: readonly { readonly view: ContainerView }[]) => list.map((one) => one.view.container.name);

test("a sidecar is waited for until it has started, and those after it start beside it", () => {
  const views = [sidecar("proxy", running), view("init", none, { isInit: true }), view("main", none)];
  const early = plan(podOf(), views, { starting: new Set(["proxy"]) });
  expect(early).toMatchObject({ phase: "Pending", start: [] });
  expect([...early.waiting.keys()]).toEqual(["init", "main"]);
  expect(names(plan(podOf(), views).start)).toEqual(["init"]);
  const [proxy = sidecar("proxy", running)] = views;
  const later = [proxy, view("init", ended(0), { isInit: true }), view("main", none)];
  expect(names(plan(podOf(), later).start)).toEqual(["main"]);
});

test("a sidecar is restarted whatever its pod's policy, also while others are being started", () => {
  const views = [sidecar("proxy", ended(0)), view("init", running, { isInit: true }), view("main", none)];
  const { start, waiting, phase } = plan(podOf({ restartPolicy: "Never" }), views);
  expect(names(start)).toEqual(["proxy"]);
  expect(waiting.get("main")).toEqual({ reason: "PodInitializing" });
  expect(phase).toBe("Pending");
  const late = plan(podOf({ restartPolicy: "Never" }), [sidecar("proxy", ended(1)), view("main", running)]);
  expect([names(late.start), late.phase]).toEqual([["proxy"], "Running"]);
});

test.each([
  ["Never", 1, "Failed"],
  ["Never", 0, "Succeeded"],
  ["OnFailure", 0, "Succeeded"],
] as const)(
  "with %s and exit code %d of the others, sidecars are ended, the last first; then the pod has %s",
  (restartPolicy, code, phase) => {
    const pod = podOf({ restartPolicy, terminationGracePeriodSeconds: 7 }, { phase: "Running" });
    const main = view("main", ended(code));
    const both = plan(pod, [sidecar("a", running), sidecar("b", running), main]);
    expect(both).toMatchObject({
      phase: "Running",
      start: [],
      stop: [{ view: { container: { name: "b" } }, grace: 7_000 }],
    });
    const one = plan(pod, [sidecar("a", running), sidecar("b", ended(143)), main]);
    expect([one.phase, names(one.stop), one.start]).toEqual(["Running", ["a"], []]);
    expect(plan(pod, [sidecar("a", ended(137)), sidecar("b", ended(143)), main])).toMatchObject({
      phase,
      start: [],
      stop: [],
    });
  },
);

test("an init container that fails for good takes the sidecars before it along", () => {
  const views = [sidecar("proxy", running), view("init", ended(1), { isInit: true }), view("main", none)];
  const failing = plan(podOf({ restartPolicy: "Never" }), views);
  expect(failing).toMatchObject({ phase: "Pending", start: [], stop: [{ view: { container: { name: "proxy" } } }] });
  const [, ...rest] = views;
  expect(plan(podOf({ restartPolicy: "Never" }), [sidecar("proxy", ended(143)), ...rest]).phase).toBe("Failed");
});

test("a pod that is deleted ends its sidecars last, and gives them a moment after the grace", () => {
  const deleted = (left: number, seconds = 30) =>
    podOf({}, { phase: "Running" }, { deletionTimestamp: formatTime(now + left), deletionGracePeriodSeconds: seconds });
  const views = [sidecar("proxy", running), view("main", running)];
  expect(names(plan(deleted(5_000), views).stop)).toEqual(["main"]);
  const late = plan(deleted(-1_000), [sidecar("proxy", running), view("main", ended(137))]);
  expect(late.stop).toMatchObject([{ view: { container: { name: "proxy" } }, grace: 2_000 }]);
  expect(names(plan(deleted(0, 0), views).stop)).toEqual(["proxy", "main"]);
});

test("sidecars that still end when the deadline passes do not fail what was done in time", () => {
  const pod = podOf({ activeDeadlineSeconds: 30 }, { startTime: formatTime(now - 40_000), phase: "Running" });
  const views = [sidecar("proxy", running), view("main", ended(0, now - 20_000))];
  expect(plan(pod, views)).not.toHaveProperty("reason");
  expect(plan(pod, [sidecar("proxy", ended(143)), view("main", ended(0, now - 20_000))]).phase).toBe("Succeeded");
});

test("a sidecar counts for the readiness of its pod, and as initialized once it has started", () => {
  const status = (current: Current, started: boolean, main: Current = none) => {
    const views = [sidecar("proxy", current), view("main", main)];
    const health = { started, ready: started };
    return podStatus({ ...facts, healthOf: () => health, pod: podOf(), views, plan: plan(podOf(), views), now });
  };
  const word = (of: PodStatus, type: string) => of.conditions?.find((one) => one.type === type)?.status;
  expect(word(status(running, false), "Initialized")).toBe("False");
  const begun = status(running, true, running);
  expect(begun.initContainerStatuses).toMatchObject([{ name: "proxy", ready: true, started: true }]);
  expect([word(begun, "Initialized"), word(begun, "Ready")]).toEqual(["True", "True"]);
  const broken = status(ended(1), true, running);
  expect([word(broken, "Initialized"), word(broken, "Ready")]).toEqual(["True", "False"]);
  expect(broken.conditions?.find(({ type }) => type === "Ready")?.message).toBe(
    "containers with unready status: [proxy]",
  );
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

test("containers that ended in time are not failed by a server that comes later", () => {
  const startTime = formatTime(now - 60_000);
  const pod = (restartPolicy: "Never" | "OnFailure" | "Always") =>
    podOf({ activeDeadlineSeconds: 30, restartPolicy }, { startTime, phase: "Running" });
  const inTime = now - 30_001;
  expect(plan(pod("Never"), [view("a", ended(0, inTime))])).toMatchObject({ phase: "Succeeded" });
  expect(plan(pod("Never"), [view("a", ended(4, inTime))])).not.toHaveProperty("reason");
  expect(plan(pod("OnFailure"), [view("a", ended(0, inTime))]).phase).toBe("Succeeded");
  // At the deadline it is too late, and what would be started again has not ended.
  expect(plan(pod("Never"), [view("a", ended(0, now - 30_000))])).toMatchObject({ reason: "DeadlineExceeded" });
  expect(plan(pod("Never"), [view("a", ended(0, inTime)), view("b", ended(0))])).toMatchObject({ phase: "Failed" });
  expect(plan(pod("OnFailure"), [view("a", ended(1, inTime))])).toMatchObject({
    reason: "DeadlineExceeded",
    start: [],
  });
  expect(plan(pod("Always"), [view("a", ended(0, inTime))])).toMatchObject({ reason: "DeadlineExceeded", start: [] });
});

test("without a stored start the deadline counts from when the pod was taken", () => {
  const pod = podOf({ activeDeadlineSeconds: 30 });
  expect(plan(pod, [view("a", none)], { acceptedAt: now - 29_000 })).toMatchObject({ wakeAt: now + 1_000 });
  expect(plan(pod, [view("a", none)], { acceptedAt: now - 30_000 })).toMatchObject({ reason: "DeadlineExceeded" });
});

test("a machine without room ends what runs within its grace, then fails the pod", () => {
  const pod = podOf({ terminationGracePeriodSeconds: 7 }, { phase: "Running" });
  const ending = plan(pod, [view("a", running), view("b", none)], { evicted: "the disk is full" });
  expect(ending).toMatchObject({ phase: "Running", reason: "Evicted", message: "the disk is full", start: [] });
  expect(ending.stop.map(({ grace }) => grace)).toEqual([7_000]);
  expect(plan(pod, [view("a", ended(143)), view("b", none)], { evicted: "full" }).phase).toBe("Failed");
});

test.each([
  ["a finished pod", podOf({}, { phase: "Succeeded" }), "Succeeded"],
  ["a deleted pod", podOf({}, {}, { deletionTimestamp: formatTime(now) }), "Failed"],
])("%s is neither refused nor evicted", (_name, pod, phase) => {
  const found = plan(pod, [view("a", none)], { refused: "no", evicted: "full" });
  expect(found.phase).toBe(phase);
  expect(found.reason).toBeUndefined();
});

test.each([
  [1, 0, 0],
  [2, 10, 0],
  [10, 300, 0],
  [10, 0, 9],
  [11, 10, 9],
  [12, 20, 9],
])("after %d restarts the wait that is told is the one that is waited: %d s", (restart, seconds, calm) => {
  const views = [view("main", ended(1, now), { restart: restart - 1 })];
  const { waiting, wakeAt } = plan(podOf({ restartPolicy: "Always" }), views, {
    calmSince: new Map([["main", calm]]),
  });
  if (seconds === 0) return expect(waiting.get("main")?.reason).toBe("ContainerCreating");
  expect(waiting.get("main")?.message).toBe(`back-off ${seconds}s restarting failed container=main`);
  expect(wakeAt).toBe(now + seconds * 1_000);
});

test.each([
  ["Never", "Failed", []],
  ["OnFailure", "Pending", ["b"]],
  ["Always", "Pending", ["b"]],
] as const)("with restartPolicy %s a failed init container makes a pod %s", (restartPolicy, phase, started) => {
  const inits = [view("a", ended(0), { isInit: true }), view("b", ended(1), { isInit: true })];
  const found = plan(podOf({ restartPolicy }), [...inits, view("c", none, { isInit: true }), view("main", none)]);
  expect(found.phase).toBe(phase);
  expect(found.start.map(({ view: { container } }) => container.name)).toEqual(started);
  expect(["c", "main"].map((name) => found.waiting.get(name)?.reason)).toEqual(["PodInitializing", "PodInitializing"]);
});

test("an init container that succeeded is not run again, whatever the policy", () => {
  const views = [view("a", ended(0), { isInit: true }), view("main", ended(0))];
  const { start } = plan(podOf({ restartPolicy: "Always" }), views);
  expect(start.map(({ view: { container }, restart }) => [container.name, restart])).toEqual([["main", 1]]);
});

test("once a main container has run, a lost init container is not begun anew", () => {
  const views = [view("a", none, { isInit: true }), view("main", running)];
  expect(plan(podOf(), views)).toMatchObject({ phase: "Running", start: [] });
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

const facts = { runtimeName: "process", address: "127.0.0.1", acceptedAt: now, healthOf: () => plainHealth };
const statusFor = (pod: PodObject, views: readonly ContainerView[]) =>
  podStatus({ ...facts, pod, views, plan: plan(pod, views), now });

const condition = (status: PodStatus, type: string) => status.conditions?.find((one) => one.type === type);

test("a running pod is ready, and its times do not move while nothing changes", () => {
  const views = [view("main", running)];
  const status = statusFor(podOf(), views);
  expect(status).toMatchObject({ phase: "Running", startTime: formatTime(now), hostIP: "127.0.0.1" });
  expect(
    ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => condition(status, type)?.status),
  ).toEqual(["True", "True", "True", "True"]);
  const late = { ...facts, acceptedAt: now + 5_000, now: now + 5_000 };
  const later = podStatus({ ...late, pod: podOf({}, status), views, plan: plan(podOf(), views) });
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

const statusOf = (pod: PodObject, views: readonly ContainerView[], obstacles: Partial<Obstacles> = {}) =>
  podStatus({ ...facts, pod, views, plan: plan(pod, views, obstacles), now });

test("a refused pod says why and nothing of containers that nobody creates", () => {
  const inits = [view("prepare", none, { isInit: true })];
  const status = statusOf(podOf(), [...inits, view("main", none)], { refused: "cannot" });
  expect(status).toMatchObject({
    phase: "Failed",
    reason: "UnsupportedPod",
    message: "cannot",
    containerStatuses: [],
    initContainerStatuses: [],
  });
  expect(condition(status, "Ready")).toMatchObject({ status: "False", reason: "PodFailed" });
  expect(condition(status, "Initialized")).toMatchObject({ status: "False" });
  expect(condition(status, "slipway.dev/Refused")).toMatchObject({ status: "True", message: "cannot" });
});

test.each([
  ["past its deadline", podOf({ activeDeadlineSeconds: 1 }, { startTime: formatTime(now - 9_000) }), {}],
  ["evicted", podOf(), { evicted: "full" }],
  ["deleted", podOf({}, {}, { deletionTimestamp: formatTime(now) }), {}],
] as const)("of a pod that is %s only those containers are told that have run", (_name, pod, obstacles) => {
  const status = statusOf(pod, [view("ran", ended(143)), view("never", none)], obstacles);
  expect(status.phase).toBe("Failed");
  expect(status.containerStatuses?.map(({ name }) => name)).toEqual(["ran"]);
  expect(condition(status, "Ready")?.status).toBe("False");
  expect(condition(status, "slipway.dev/Refused")).toBeUndefined();
});

test("containers that waited for a failed one go on saying so", () => {
  const views = [view("broken", ended(1), { isInit: true }), view("main", none)];
  const status = statusOf(podOf({ restartPolicy: "Never" }), views);
  expect(status).toMatchObject({
    phase: "Failed",
    initContainerStatuses: [{ name: "broken", state: { terminated: { exitCode: 1 } } }],
    containerStatuses: [{ name: "main", state: { waiting: { reason: "PodInitializing" } } }],
  });
});

test("a pod that goes on tells of all its containers, in the order of the document", () => {
  const status = statusOf(podOf(), [view("b", running), view("a", none)]);
  expect(status.containerStatuses?.map(({ name, state, ready }) => [name, Object.keys(state)[0], ready])).toEqual([
    ["b", "running", true],
    ["a", "waiting", false],
  ]);
});

test("reason and message of a pod go when it has none any more", () => {
  const before = podOf({}, { reason: "Old", message: "gone" });
  const status = statusOf(before, [view("main", running)]);
  expect(status).not.toHaveProperty("reason");
  expect(status).not.toHaveProperty("message");
});
