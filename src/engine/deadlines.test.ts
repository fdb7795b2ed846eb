import { expect, test } from "vitest";
import { advance, newRun, type Plan, type RunState, type StepState } from "./index.ts";
import { alive, gone, phases, plan, succeeded } from "./testing/build.ts";
import { type Deadline, deadlinesOf } from "./testing/deadlines.ts";

const text = (list: readonly Deadline[]) => list.map(({ at, scope, step }) => `${scope} ${step ?? "-"} ${at}`);

const full = {
  timeout: 50,
  pendingTimeout: 20,
  deadline: 200,
  cancelTimeout: 30,
} as const;

const single = (more: object = {}): Plan =>
  plan([{ id: "a", ...full, ...more }], { policy: { strategy: "Continue", deadline: 1_000 } });

const runWith = (a: StepState, more: Partial<RunState> = {}): RunState => ({
  ...newRun,
  phase: "Running",
  startedAt: 100,
  ...more,
  steps: { a },
});

const started = { attempt: 1, readyAt: 110, startedAt: 120 } as const;

test.each<readonly [StepState, readonly string[]]>([
  [{ phase: "Pending", attempt: 0 }, ["run - 1100"]],
  [{ phase: "Waiting", attempt: 0, readyAt: 110, reason: "Lock" }, ["run - 1100", "step a 310"]],
  [{ phase: "Starting", ...started }, ["run - 1100", "step a 310", "attempt a 170", "pending a 140"]],
  [{ phase: "Running", ...started }, ["run - 1100", "step a 310", "attempt a 170"]],
  [{ phase: "Running", ...started, attemptAt: 150 }, ["run - 1100", "step a 310", "attempt a 200"]],
  [{ phase: "Suspended", ...started }, ["run - 1100", "step a 310", "approval a 170"]],
  [{ phase: "Suspended", ...started, suspendedFor: 7 }, ["run - 1100", "step a 317", "approval a 177"]],
  [{ phase: "Cancelling", ...started, cancelledAt: 160 }, ["run - 1100", "cancel a 190"]],
  [{ phase: "Succeeded", ...started }, []],
])("of a step in %j these deadlines count", (state, expected) => {
  expect(text(deadlinesOf(single(), runWith(state)))).toEqual(expected);
});

test("suspension moves the run's deadline, and while it lasts only clocks of children run", () => {
  const running: StepState = { phase: "Running", ...started };
  expect(text(deadlinesOf(single(), runWith(running, { suspendedFor: 40 })))[0]).toBe("run - 1140");
  expect(text(deadlinesOf(single(), runWith(running, { suspendedSince: 150 })))).toEqual(["attempt a 170"]);
});

test("a run that is being closed has no deadline, and the final part has its own", () => {
  const final = plan([{ id: "f" }], { policy: { strategy: "Continue", deadline: 600 } });
  const both: Plan = { ...single(), final };
  const done: StepState = { phase: "Succeeded", ...started };
  const opened = runWith(done, { final: { startedAt: 300, suspendedFor: 5 } });
  expect(text(deadlinesOf(both, opened))).toEqual(["final - 905"]);
  expect(text(deadlinesOf(both, { ...opened, final: { startedAt: 300, closing: "Deadline" } }))).toEqual([]);
  expect(text(deadlinesOf(single(), runWith({ phase: "Pending", attempt: 0 }, { closing: "Cancel" })))).toEqual([]);
});

test("past its deadline a run cancels what it can, runs the final steps, and fails", () => {
  const of = plan([{ id: "a" }, { id: "b", after: ["a"] }, { id: "ask", kind: "approval" }], {
    policy: { strategy: "Continue", deadline: 100 },
    final: plan([{ id: "f" }]),
  });
  const first = advance(of, newRun, [], 1_000);
  expect(first.wakeAt).toBe(1_100);
  let { run } = advance(of, first.run, [alive("a")], 1_050);
  run = advance(of, run, [], 1_100).run;
  const message = "not finished within 0.1s: a, ask";
  expect(run).toMatchObject({ phase: "Cancelling", reason: "DeadlineExceeded", message, closing: "Deadline" });
  expect(phases(run)).toEqual({
    a: "Cancelling(DeadlineExceeded)",
    b: "Canceled(DeadlineExceeded)",
    ask: "Canceled(DeadlineExceeded)",
  });
  run = advance(of, run, [gone("a")], 1_110).run;
  expect(phases(run)["f"]).toBe("Starting");
  run = advance(of, run, [succeeded("f")], 1_120).run;
  expect(run).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded", message, finishedAt: 1_120 });
});

test("past its deadline a run says how much time there was then, and three of the steps that were under way", () => {
  const short = plan([{ id: "a" }, { id: "b" }, { id: "c" }, { id: "d" }, { id: "e", after: ["a"] }], {
    policy: { strategy: "Continue", deadline: 5_000 },
  });
  const { run } = advance(short, advance(short, newRun, [], 0).run, [], 5_000);
  const message = "not finished within 5s: a, b, c (and 1 other)";
  expect(run).toMatchObject({ phase: "Cancelling", message });
  const long: Plan = { ...short, policy: { strategy: "Continue", deadline: 9_000 } };
  const ended = advance(
    long,
    run,
    ["a", "b", "c", "d"].map((step) => gone(step)),
    5_001,
  ).run;
  expect(ended).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded", message });
});

test("a suspended time does not count as time there was, and a deadline that strikes before a step begins names none", () => {
  const of = plan([{ id: "a" }], { policy: { strategy: "Continue", deadline: 1_000 } });
  const { run } = advance(of, { ...newRun, startedAt: 0, suspendedFor: 500 }, [], 1_500);
  expect(run).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded", message: "not finished within 1s" });
});

test("a deadline that is raised in time lets a live run go on", () => {
  const short = plan([{ id: "a" }], { policy: { strategy: "Continue", deadline: 100 } });
  const { run } = advance(short, newRun, [], 0);
  const long: Plan = { ...short, policy: { strategy: "Continue", deadline: 500 } };
  expect(advance(long, run, [], 400)).toMatchObject({ run, wakeAt: 500 });
  expect(advance(short, run, [], 400).run.closing).toBe("Deadline");
});

test("a child that succeeds in the same moment the deadline strikes has succeeded", () => {
  const short = plan([{ id: "a" }], { policy: { strategy: "Continue", deadline: 100 } });
  const { run } = advance(short, advance(short, newRun, [], 0).run, [succeeded("a")], 100);
  expect(run).toMatchObject({ phase: "Succeeded" });
});

test("the final deadline ends the final steps and fails a run that was fine", () => {
  const of = plan([{ id: "a" }], {
    final: plan([{ id: "f" }, { id: "g", after: ["f"] }], { policy: { strategy: "Continue", deadline: 10 } }),
  });
  let { run } = advance(of, newRun, [], 0);
  run = advance(of, run, [succeeded("a")], 100).run;
  run = advance(of, run, [], 110).run;
  expect(phases(run)).toMatchObject({ f: "Cancelling(DeadlineExceeded)", g: "Canceled(DeadlineExceeded)" });
  run = advance(of, run, [gone("f")], 111).run;
  expect(run).toMatchObject({
    phase: "Failed",
    reason: "FinalStepFailed",
    message: 'step "f" was canceled: DeadlineExceeded',
  });
});

test("a timer is due after its time, at its time, or at once when that has passed", () => {
  const of = plan([
    { id: "after", kind: "timer", due: () => ({ after: 20 }) },
    { id: "at", kind: "timer", due: () => ({ at: 1_010 }) },
    { id: "past", kind: "timer", due: () => ({ at: 5 }) },
    { id: "bad", kind: "timer", due: () => ({ error: "not a time" }) },
    { id: "none", kind: "timer" },
  ]);
  const first = advance(of, newRun, [], 1_000);
  expect(phases(first.run)).toEqual({
    after: "Waiting(Timer)",
    at: "Waiting(Timer)",
    past: "Succeeded",
    bad: "Failed(ExpressionError)",
    none: "Succeeded",
  });
  expect(first.wakeAt).toBe(1_010);
  const second = advance(of, first.run, [], 1_010);
  expect(phases(second.run)).toMatchObject({ after: "Waiting(Timer)", at: "Succeeded" });
  expect(advance(of, second.run, [], 1_020).run).toMatchObject({ phase: "Failed", finishedAt: 1_020 });
});

test("of several deadlines that strike at once, the outermost is the reason", () => {
  const of = plan([{ id: "a", timeout: 5, deadline: 5, pendingTimeout: 5 }]);
  const { run } = advance(of, newRun, [], 0);
  expect(phases(advance(of, run, [], 5).run)).toEqual({ a: "Cancelling(StepDeadlineExceeded)" });
});

test("a group that is being cancelled has no deadline of its own: it is through when its steps are", () => {
  const of = plan([{ id: "g", kind: "group", cancelTimeout: 5, group: plan([{ id: "x", cancelTimeout: 7 }]) }]);
  const { run } = advance(of, advance(of, newRun, [], 0).run, [{ kind: "action", action: "cancel", step: "g" }], 10);
  expect(text(deadlinesOf(of, run))).toEqual(["cancel g/x 17"]);
  expect(phases(advance(of, run, [], 17).run)).toEqual({
    g: "Canceled(StepCanceled)",
    "g/x": "Canceled(GroupCanceled)",
  });
});
