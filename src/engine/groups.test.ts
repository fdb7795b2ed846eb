import { expect, test } from "vitest";
import {
  advance,
  alwaysGate,
  conditionGate,
  createRunCache,
  type Fact,
  newRun,
  type Plan,
  type PlanStep,
  reset,
  type RunState,
} from "./index.ts";
import { alive, failed, gone, phases, plan, succeeded } from "./testing/build.ts";

const inner = plan([{ id: "x" }, { id: "y", after: ["x"] }]);
const around = (group: Partial<PlanStep> = {}, nested: Plan = inner): Plan =>
  plan([{ id: "a" }, { id: "g", after: ["a"], kind: "group", group: nested, ...group }, { id: "z", after: ["g"] }]);

function calls(of: Plan, ...turns: readonly (readonly Fact[])[]): RunState {
  const cache = createRunCache();
  return turns.reduce((run, facts, at) => advance(of, run, facts, at * 10, cache).run, newRun);
}

test("a group opens its steps when its gate passes, and ends with the last of them", () => {
  const of = around();
  const opened = calls(of, [], [succeeded("a")]);
  expect(phases(opened)).toEqual({ a: "Succeeded", g: "Running", "g/x": "Starting" });
  const closed = calls(of, [], [succeeded("a")], [succeeded("g/x")], [succeeded("g/y")]);
  expect(phases(closed)).toEqual({
    a: "Succeeded",
    g: "Succeeded",
    "g/x": "Succeeded",
    "g/y": "Succeeded",
    z: "Starting",
  });
});

test("a group without steps succeeds at once", () => {
  expect(phases(calls(around({}, plan([])), [], [succeeded("a")]))).toEqual({
    a: "Succeeded",
    g: "Succeeded",
    z: "Starting",
  });
  const of = plan([{ id: "g", kind: "group" }]);
  expect(calls(of, [])).toMatchObject({ phase: "Succeeded" });
});

test("a failed step fails its group, which can be forgiven as a whole", () => {
  const turns = [[], [succeeded("a")], [failed("g/x")]] as const;
  expect(phases(calls(around(), ...turns))).toMatchObject({
    g: "Failed(StepFailed)",
    "g/x": "Failed(Error)",
    "g/y": "Skipped(DependencyFailed)",
    z: "Skipped(DependencyFailed)",
  });
  expect(phases(calls(around({ onFailure: "Continue" }), ...turns))).toMatchObject({
    g: "Failed(StepFailed)",
    z: "Starting",
  });
});

test("a group whose steps forgive each other succeeds", () => {
  const nested = plan([{ id: "x", onFailure: "Continue" }]);
  expect(phases(calls(around({}, nested), [], [succeeded("a")], [failed("g/x")]))).toMatchObject({
    g: "Succeeded",
    z: "Starting",
  });
});

test("the steps of a group that is skipped share its fate", () => {
  const no = conditionGate(false, () => ({ ok: true, value: false }));
  expect(phases(calls(around({ gate: no }), [], [succeeded("a")]))).toMatchObject({
    g: "Skipped(ConditionFalse)",
    "g/x": "Skipped(ConditionFalse)",
    "g/y": "Skipped(ConditionFalse)",
    z: "Starting",
  });
  const error = conditionGate(false, () => ({ ok: false, error: "no" }));
  expect(phases(calls(around({ gate: error }), [], [succeeded("a")]))).toMatchObject({
    g: "Failed(ExpressionError)",
    "g/x": "Skipped(DependencyFailed)",
  });
});

test("cancelling a group cancels its steps; it ends when they are gone", () => {
  const cancel: Fact = { kind: "action", action: "cancel", step: "g" };
  const of = around();
  const during = calls(of, [], [succeeded("a")], [alive("g/x"), cancel]);
  expect(phases(during)).toMatchObject({
    g: "Cancelling(StepCanceled)",
    "g/x": "Cancelling(GroupCanceled)",
    "g/y": "Canceled(GroupCanceled)",
  });
  const { run, effects } = advance(of, during, [gone("g/x")], 99);
  expect(phases(run)).toMatchObject({
    g: "Canceled(StepCanceled)",
    "g/x": "Canceled(GroupCanceled)",
    z: "Skipped(DependencyFailed)",
  });
  expect(effects).toEqual([]);
});

test("a step of a cancelled group whose attempt timed out before is not tried again", () => {
  const retry = { limit: 5, delay: () => 0 };
  const of = around({}, plan([{ id: "x", timeout: 5, retry }]));
  const cancel: Fact = { kind: "action", action: "cancel", step: "g" };
  const run = calls(of, [], [succeeded("a")], [], [cancel], [gone("g/x")]);
  expect(phases(run)).toMatchObject({ "g/x": "Failed(Timeout)", g: "Canceled(StepCanceled)" });
});

test("a group that takes too long fails when its steps are gone", () => {
  const of = around({ timeout: 15 });
  const during = calls(of, [], [succeeded("a")], [alive("g/x")], []);
  expect(phases(during)).toMatchObject({ g: "Cancelling(Timeout)", "g/x": "Cancelling(GroupCanceled)" });
  expect(phases(advance(of, during, [gone("g/x")], 40).run)).toMatchObject({ g: "Failed(Timeout)" });
});

test("a failing run drains the steps of an open group", () => {
  const of = plan(
    [
      { id: "bad" },
      {
        id: "g",
        kind: "group",
        group: plan([
          { id: "x" },
          { id: "y", after: ["x"] },
          { id: "mop", after: ["x"], gate: alwaysGate, afterFailure: true },
        ]),
      },
    ],
    {
      policy: { strategy: "Drain" },
    },
  );
  const run = calls(of, [], [failed("bad"), alive("g/x")], [succeeded("g/x")], [succeeded("g/mop")]);
  expect(phases(run)).toMatchObject({
    g: "Canceled(RunFailing)",
    "g/x": "Succeeded",
    "g/y": "Skipped(RunFailing)",
    "g/mop": "Succeeded",
  });
});

test("a group has a strategy of its own", () => {
  const nested = plan([{ id: "x" }, { id: "y" }], { policy: { strategy: "Cancel" } });
  const of = plan([{ id: "g", kind: "group", group: nested }, { id: "b" }]);
  expect(phases(calls(of, [], [failed("g/x")]))).toEqual({
    g: "Running",
    "g/x": "Failed(Error)",
    "g/y": "Cancelling(RunFailing)",
    b: "Starting",
  });
});

test("groups in groups work the same", () => {
  const of = plan([
    { id: "o", kind: "group", group: plan([{ id: "i", kind: "group", group: plan([{ id: "x" }]) }]) },
    { id: "z", after: ["o"] },
  ]);
  const { effects } = advance(of, newRun, [], 0);
  expect(effects).toEqual([{ kind: "start", step: "o/i/x", attempt: 1 }]);
  expect(phases(calls(of, [], [succeeded("o/i/x")]))).toEqual({
    o: "Succeeded",
    "o/i": "Succeeded",
    "o/i/x": "Succeeded",
    z: "Starting",
  });
  expect(phases(calls(of, [], [{ kind: "action", action: "cancel" }]))).toMatchObject({
    "o/i/x": "Cancelling(RunCanceled)",
    z: "Canceled(RunCanceled)",
  });
});

test("retrying a run repeats the failed steps of a group and keeps the others", () => {
  const of = around();
  const done = calls(of, [], [succeeded("a")], [succeeded("g/x")], [failed("g/y")]);
  const again = reset(of, done);
  expect(again.ok && phases(again.value)).toEqual({
    a: "Succeeded",
    g: "Pending",
    "g/x": "Succeeded",
    "g/y": "Pending",
    z: "Pending",
  });
  const { run, effects } = advance(of, again.ok ? again.value : newRun, [], 99);
  expect(effects).toEqual([{ kind: "start", step: "g/y", attempt: 2 }]);
  expect(phases(advance(of, run, [succeeded("g/y", 2)], 100).run)).toMatchObject({ g: "Succeeded", z: "Starting" });
});

test("a group that is asked for, or stands behind a repeated step, is repeated with its steps", () => {
  const of = around();
  const done = calls(of, [], [succeeded("a")], [succeeded("g/x")], [succeeded("g/y")], [succeeded("z")]);
  for (const steps of [["g"], ["a"]]) {
    const again = reset(of, done, { steps });
    expect(again.ok && phases(again.value)).toMatchObject({
      g: "Pending",
      "g/x": "Pending",
      "g/y": "Pending",
      z: "Pending",
    });
  }
  const inside = reset(of, done, { steps: ["g/y"] });
  expect(inside.ok && phases(inside.value)).toEqual({
    a: "Succeeded",
    g: "Pending",
    "g/x": "Succeeded",
    "g/y": "Pending",
    z: "Pending",
  });
});

test("when a group and a step in it run out of time at once, it is the group that ends", () => {
  const retry = { limit: 1, delay: () => 0 };
  const of = plan([{ id: "g", kind: "group", timeout: 5, group: plan([{ id: "x", timeout: 5, retry }]) }]);
  expect(phases(calls(of, [], []))).toEqual({ g: "Cancelling(Timeout)", "g/x": "Cancelling(GroupCanceled)" });
});

test("a group that failed and also stands behind a repeated step is repeated with all its steps", () => {
  const of = plan([
    { id: "a", onFailure: "Continue" },
    { id: "p", after: ["a"] },
    { id: "g", after: ["p"], kind: "group", group: plan([{ id: "x" }, { id: "y" }]) },
  ]);
  const done = calls(of, [], [failed("a")], [succeeded("p")], [failed("g/x"), succeeded("g/y")]);
  const again = reset(of, done);
  expect(again.ok && phases(again.value)).toEqual({
    a: "Pending",
    p: "Pending",
    g: "Pending",
    "g/x": "Pending",
    "g/y": "Pending",
  });
});
