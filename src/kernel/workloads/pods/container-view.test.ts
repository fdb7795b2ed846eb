import { expect, test } from "vitest";
import { formatTime } from "#lib/base/index.ts";
import type { TaskOutcome, TaskState, TaskStatus } from "#kernel/runtimes/index.ts";
import type { ContainerState, ContainerStatus, PodObject } from "../pod-types.ts";
import { shellPod } from "../testing/index.ts";
import { type ContainerView, terminatedBy, viewContainers } from "./container-view.ts";

const now = Date.UTC(2026, 0, 1, 12);
const time = formatTime(now);

const exited = (code: number, more: Partial<Extract<TaskOutcome, { kind: "exited" }>> = {}): TaskOutcome => ({
  kind: "exited",
  code,
  startedAt: now - 5_000,
  finishedAt: now,
  ...more,
});
const ended = (outcome: TaskOutcome): TaskState => ({ phase: "ended", outcome });
const running: TaskState = { phase: "running", startedAt: now };

const stored = (restartCount: number, state: ContainerState, lastState: ContainerState = {}): ContainerStatus => ({
  name: "main",
  state,
  lastState,
  ready: false,
  started: false,
  restartCount,
  image: "x",
  imageID: "",
});

/** The view of `main`, by the states of its executions and what is stored. */
function view(tasks: Readonly<Record<number, TaskState>>, status?: ContainerStatus): ContainerView {
  const base = shellPod("p", "true");
  const pod: PodObject = {
    ...base,
    metadata: { ...base.metadata, uid: "u" },
    ...(status === undefined ? {} : { status: { containerStatuses: [status] } }),
  };
  const byId = new Map(
    Object.entries(tasks).map(([restart, state]): [string, TaskStatus] => [
      `u/main/${restart}`,
      { id: `u/main/${restart}`, state },
    ]),
  );
  const facts = { runtimeName: "fake", find: (id: string) => byId.get(id), messageOf: (id: string) => `says ${id}` };
  const [found] = viewContainers(pod, facts, now);
  if (found === undefined) throw new Error("no container");
  return found;
}

const gone = { exitCode: 3, finishedAt: time, startedAt: formatTime(now - 1_000) };

test.each<[string, ContainerView, object]>([
  ["nothing is known of a new one", view({}), { restart: 0, current: { kind: "none" }, previous: undefined }],
  ["one that is being started does not run yet", view({ 0: { phase: "starting" } }), { current: { kind: "none" } }],
  [
    "one that runs has its task",
    view({ 0: running }),
    { current: { kind: "running", taskId: "u/main/0", startedAt: now } },
  ],
  [
    "one that has ended says so in its own words",
    view({ 0: ended(exited(3)) }),
    { current: { kind: "ended", ranFor: 5_000, terminated: { exitCode: 3, message: "says u/main/0" } } },
  ],
  [
    "the runtime is ahead of a status that was not written",
    view({ 0: ended(exited(1)), 1: running }, stored(0, { running: { startedAt: time } })),
    { restart: 1, current: { kind: "running", taskId: "u/main/1" }, previous: { exitCode: 1 } },
  ],
  [
    "by several executions, too",
    view({ 0: ended(exited(1)), 1: ended(exited(2)), 2: running }),
    { restart: 2, previous: { exitCode: 2 } },
  ],
  [
    "a status is all there is of a task that was removed",
    view({}, stored(2, { terminated: gone }, { terminated: { exitCode: 9 } })),
    { restart: 2, current: { kind: "ended", terminated: gone, ranFor: 1_000 }, previous: { exitCode: 9 } },
  ],
  [
    "what is stored as running and known to nobody has ended, as if it had been killed",
    view({}, stored(0, { running: { startedAt: time } })),
    {
      current: {
        kind: "ended",
        ranFor: 0,
        terminated: {
          exitCode: 137,
          reason: "ContainerStatusUnknown",
          message: "the fake runtime has no record of it any more",
        },
      },
    },
  ],
  [
    "what is stored as waiting has not run",
    view({}, stored(0, { waiting: { reason: "X" } })),
    { current: { kind: "none" } },
  ],
  [
    "the end before a restart comes from the runtime while it knows it",
    view(
      { 0: ended(exited(4)), 1: running },
      stored(1, { running: { startedAt: time } }, { terminated: { exitCode: 5 } }),
    ),
    { previous: { exitCode: 4 } },
  ],
  [
    "and from the status when it does not",
    view({ 1: running }, stored(1, { running: { startedAt: time } }, { terminated: { exitCode: 5 } })),
    { previous: { exitCode: 5 } },
  ],
  [
    "and from the state of a status that has not seen the restart",
    view({ 1: running }, stored(0, { terminated: gone })),
    { restart: 1, previous: { exitCode: 3 } },
  ],
])("of a container, %s", (_name, found, expected) => {
  expect(found).toMatchObject(expected);
});

test("init containers come first, each with a status of its own list", () => {
  const base = shellPod("p", "true", { initContainers: [{ name: "main", image: "x", command: ["x"] }] });
  const pod: PodObject = {
    ...base,
    metadata: { ...base.metadata, uid: "u" },
    status: { initContainerStatuses: [stored(0, { terminated: gone })] },
  };
  const facts = { runtimeName: "fake", find: () => undefined, messageOf: () => undefined };
  expect(viewContainers(pod, facts, now).map(({ isInit, current }) => [isInit, current.kind])).toEqual([
    [true, "ended"],
    [false, "none"],
  ]);
});

test.each<[TaskOutcome, string | undefined, object]>([
  [exited(0), undefined, { exitCode: 0, reason: "Completed", startedAt: formatTime(now - 5_000), finishedAt: time }],
  [exited(0), "out", { exitCode: 0, reason: "Completed", message: "out" }],
  [exited(2), "out", { exitCode: 2, reason: "Error", message: "out" }],
  [exited(137, { signal: "SIGKILL" }), "", { exitCode: 137, reason: "Error" }],
  [
    { kind: "not-started", code: 127, message: "program x was not found", finishedAt: now },
    "ignored",
    { exitCode: 127, reason: "ContainerCannotRun", message: "program x was not found", startedAt: time },
  ],
  [
    { kind: "lost", message: "the runner died", finishedAt: now },
    "ignored",
    { exitCode: 137, reason: "ContainerStatusUnknown", message: "the runner died", startedAt: time, finishedAt: time },
  ],
  [
    { kind: "lost", message: "x", startedAt: now - 9_000, finishedAt: now },
    undefined,
    { startedAt: formatTime(now - 9_000) },
  ],
])("the outcome %j with the message %j reads %j", (outcome, message, expected) => {
  expect(terminatedBy(outcome, message, "fake://id")).toMatchObject({ ...expected, containerID: "fake://id" });
});

test("an empty message is no message", () => {
  expect(terminatedBy(exited(0), "", "id")).not.toHaveProperty("message");
});

test("that output was lost never stands in what programs read", () => {
  const note = "output is incomplete: ENOSPC";
  expect(terminatedBy(exited(0, { note }), '{"a":1}', "id").message).toBe('{"a":1}');
  expect(terminatedBy(exited(1, { note }), '{"a":1}', "id").message).toBe('{"a":1}');
  expect(terminatedBy(exited(0, { note }), "", "id").message).toBeUndefined();
  expect(terminatedBy(exited(1, { note }), "", "id").message).toBe(note);
});
