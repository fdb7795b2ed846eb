import { expect, test } from "vitest";
import { advance, createRunCache, type Fact, newRun, type Plan, reset, type RunState } from "./index.ts";
import { alive, failed, phases, plan, succeeded } from "./testing/build.ts";

const of = plan(
  [
    { id: "build" },
    { id: "lint" },
    { id: "test", after: ["build"] },
    { id: "pack", after: ["test", "lint"] },
    { id: "docs", after: ["lint"], gate: () => ({ skip: "ConditionFalse" }) },
  ],
  { policy: { strategy: "Continue", deadline: 1_000 }, final: plan([{ id: "report" }]) },
);

function calls(which: Plan, from: RunState, ...turns: readonly (readonly Fact[])[]): RunState {
  const cache = createRunCache();
  return turns.reduce((run, facts, at) => advance(which, run, facts, at * 10, cache).run, from);
}

const broken = calls(of, newRun, [], [succeeded("build"), succeeded("lint")], [failed("test")], [succeeded("report")]);
const green = calls(
  of,
  newRun,
  [],
  [succeeded("build"), succeeded("lint")],
  [succeeded("test")],
  [succeeded("pack")],
  [succeeded("report")],
);

const again = (run: RunState, steps?: readonly string[]): RunState => {
  const result = reset(of, run, steps === undefined ? {} : { steps });
  if (!result.ok) throw new Error(result.error);
  return result.value;
};

test("without a selection, what did not go well is repeated with what comes after, and the final steps", () => {
  expect(phases(again(broken))).toEqual({
    build: "Succeeded",
    lint: "Succeeded",
    docs: "Skipped(ConditionFalse)",
    test: "Pending",
    pack: "Pending",
    report: "Pending",
  });
});

test("a reset run begins anew: next number, no outcome, no clock", () => {
  const run = again({ ...broken, closing: "Cancel", suspendedFor: 77, forced: true });
  expect(run).toEqual({ phase: "Pending", number: 2, suspendedFor: 0, steps: run.steps });
  expect(run.steps["test"]).toEqual({ phase: "Pending", attempt: 1, earlierAttempts: 1 });
  expect(advance(of, run, [], 5_000)).toMatchObject({ run: { phase: "Running", startedAt: 5_000 }, wakeAt: 6_000 });
});

test("attempts go on counting over run numbers, so that no two children share a name", () => {
  const { run, effects } = advance(of, again(broken), [], 100);
  expect(effects).toEqual([{ kind: "start", step: "test", attempt: 2 }]);
  const third = calls(of, again(calls(of, run, [failed("test", 2)], [succeeded("report", 2)])), []);
  expect(third.steps["test"]).toMatchObject({ phase: "Starting", attempt: 3, earlierAttempts: 2 });
});

test("a selection repeats steps that went well too, by name and with what comes after", () => {
  expect(phases(again(green, ["lint"]))).toEqual({
    build: "Succeeded",
    lint: "Pending",
    test: "Succeeded",
    docs: "Pending",
    pack: "Pending",
    report: "Pending",
  });
});

test("outputs of what is kept stay, outputs of what is repeated go", () => {
  const single = plan([{ id: "a" }, { id: "b" }]);
  const outputs = (step: string): Fact => ({
    kind: "child",
    step,
    attempt: 1,
    state: { is: "succeeded", outputs: { step } },
  });
  const done = calls(single, newRun, [], [outputs("a"), outputs("b")]);
  const result = reset(single, done, { steps: ["b"] });
  expect(result.ok && [result.value.steps["a"]?.outputs, result.value.steps["b"]?.outputs]).toEqual([
    { step: "a" },
    undefined,
  ]);
});

test("a request that makes no sense is answered with a sentence", () => {
  expect(reset(of, calls(of, newRun, []))).toEqual({
    ok: false,
    error: "the run is Running; only a finished run can be retried",
  });
  expect(reset(of, broken, { steps: ["tset"] })).toEqual({ ok: false, error: 'there is no step "tset"' });
  expect(reset(of, green)).toEqual({ ok: false, error: "no step failed; choose the steps to re-run with --step" });
});

test("the action retry resets and goes on in one call, once per run number", () => {
  const retry: Fact = { kind: "action", action: "retry", number: 1 };
  const { run, ignored } = advance(of, broken, [retry], 100);
  expect(run).toMatchObject({ phase: "Running", number: 2, startedAt: 100 });
  expect(ignored).toBe(0);
  expect(advance(of, run, [retry], 110)).toMatchObject({ run, ignored: 1 });
  const ended = calls(of, run, [failed("test", 2)], [succeeded("report", 2)]);
  expect(advance(of, ended, [retry], 200)).toMatchObject({ run: ended, ignored: 1 });
});

test("the action retry can select steps, and one that cannot be carried out is ignored", () => {
  const { run } = advance(of, green, [{ kind: "action", action: "retry", step: "pack" }], 100);
  expect(phases(run)).toMatchObject({ test: "Succeeded", pack: "Starting" });
  const many = advance(of, green, [{ kind: "action", action: "retry", steps: ["test", "lint"] }], 100).run;
  expect(phases(many)).toMatchObject({ build: "Succeeded", test: "Starting", lint: "Starting" });
  expect(advance(of, green, [{ kind: "action", action: "retry" }], 100)).toMatchObject({ run: green, ignored: 1 });
});

test("a step that handles failures and did so runs again when what it handled is repeated", () => {
  const which = plan([{ id: "a" }, { id: "mop", after: ["a"], gate: () => ({ run: true }), afterFailure: true }]);
  const done = calls(which, newRun, [], [alive("a")], [failed("a")], [succeeded("mop")]);
  const result = reset(which, done);
  expect(result.ok && phases(result.value)).toEqual({ a: "Pending", mop: "Pending" });
});

test("steps that are no longer in the plan are left alone", () => {
  const old: RunState = { ...broken, steps: { ...broken.steps, removed: { phase: "Failed", attempt: 1 } } };
  expect(again(old).steps["removed"]).toEqual({ phase: "Failed", attempt: 1 });
});
