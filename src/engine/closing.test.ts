import { expect, test } from "vitest";
import { advance, createRunCache, type Fact, newRun, type Plan, type RunState } from "./index.ts";
import { alive, failed, gone, phases, plan, succeeded } from "./testing/build.ts";

const cancel: Fact = { kind: "action", action: "cancel", by: "anna", reason: "wrong branch" };
const force: Fact = { kind: "action", action: "cancel", force: true };

const of = plan(
  [
    { id: "a", graceMs: 30_000 },
    { id: "b", after: ["a"] },
    { id: "ask", kind: "approval" },
  ],
  {
    final: plan([{ id: "f" }, { id: "g", after: ["f"] }]),
  },
);

function calls(which: Plan, ...turns: readonly (readonly Fact[])[]): RunState {
  const cache = createRunCache();
  return turns.reduce((run, facts, at) => advance(which, run, facts, at * 10, cache).run, newRun);
}

test("a cancelled run ends its children, runs its final steps, and is Canceled", () => {
  const { run, effects } = advance(of, calls(of, [], [alive("a")]), [cancel], 20);
  const message = "canceled by anna: wrong branch";
  expect(run).toMatchObject({ phase: "Cancelling", reason: "RunCanceled", message, closing: "Cancel" });
  expect(phases(run)).toEqual({
    a: "Cancelling(RunCanceled)",
    b: "Canceled(RunCanceled)",
    ask: "Canceled(RunCanceled)",
  });
  expect(run.steps["b"]?.message).toBe(message);
  expect(effects).toEqual([{ kind: "cancel", step: "a", attempt: 1, graceMs: 30_000 }]);
  const last = calls(of, [], [alive("a")], [cancel], [gone("a")], [succeeded("f")], [succeeded("g")]);
  expect(last).toMatchObject({ phase: "Canceled", reason: "Canceled", message, finishedAt: 50 });
  expect(phases(last)).toMatchObject({ f: "Succeeded", g: "Succeeded" });
});

test("a child that succeeds while it is cancelled has succeeded, and the run is Canceled all the same", () => {
  const run = calls(plan([{ id: "a" }]), [], [alive("a")], [cancel], [succeeded("a")]);
  expect(run.phase).toBe("Canceled");
  expect(phases(run)).toEqual({ a: "Succeeded" });
});

test("a forced cancel runs no final steps, and ends those that run", () => {
  const early = calls(of, [], [alive("a")], [force], [gone("a")]);
  expect(early).toMatchObject({ phase: "Canceled", forced: true });
  expect(phases(early)).toMatchObject({ f: "Canceled(RunCanceled)", g: "Canceled(RunCanceled)" });
  const late = calls(of, [], [cancel], [gone("a")], [force]);
  expect(phases(late)).toMatchObject({ f: "Cancelling(RunCanceled)", g: "Canceled(RunCanceled)" });
  expect(advance(of, late, [gone("f")], 99).run.phase).toBe("Canceled");
});

test("a cancel that is repeated by force keeps its words, unless whoever forces it has some", () => {
  const messageOf = (...cancels: readonly Fact[]) =>
    cancels.reduce((run, fact) => advance(of, run, [fact], 20).run, calls(of, [], [alive("a")])).message;
  expect(messageOf(cancel, force)).toBe("canceled by anna: wrong branch");
  expect(messageOf(cancel, { ...force, by: "bob" })).toBe("canceled by bob");
  expect(messageOf(force)).toBeUndefined();
});

test("a cancel during the final steps lets them end and makes the run Canceled", () => {
  const which = plan([{ id: "a" }], { final: plan([{ id: "f" }]) });
  const run = calls(which, [], [succeeded("a")], [cancel]);
  expect(phases(run)).toEqual({ a: "Succeeded", f: "Starting" });
  expect(advance(which, run, [succeeded("f")], 99).run.phase).toBe("Canceled");
});

test("a cancel turns a run that its deadline closes into a cancelled one; cancelling twice changes nothing", () => {
  const which = plan([{ id: "a" }], { policy: { strategy: "Continue", deadline: 5 } });
  const late = calls(which, [], []);
  expect(late).toMatchObject({ closing: "Deadline", message: "not finished within 0.005s: a" });
  const { run } = advance(which, late, [cancel], 20);
  expect(run).toMatchObject({ closing: "Cancel", message: "canceled by anna: wrong branch" });
  expect(advance(which, late, [force], 20).run).not.toHaveProperty("message");
  expect(advance(which, run, [cancel], 30).run).toBe(run);
});

test("final steps run whatever became of the main ones, and their failure fails a run that was fine", () => {
  const which = plan([{ id: "a" }], { final: plan([{ id: "f" }]) });
  const red = calls(which, [], [failed("a")], [succeeded("f")]);
  expect(red).toMatchObject({ phase: "Failed", reason: "StepFailed" });
  const worse = calls(which, [], [succeeded("a")], [failed("f")]);
  expect(worse).toMatchObject({ phase: "Failed", reason: "FinalStepFailed", message: 'step "f" failed: exit code 1' });
  const both = calls(which, [], [failed("a")], [failed("f")]);
  expect(both).toMatchObject({ phase: "Failed", reason: "StepFailed" });
  const forgiven = plan([{ id: "a" }], { final: plan([{ id: "f", onFailure: "Continue" }]) });
  expect(calls(forgiven, [], [succeeded("a")], [failed("f")]).phase).toBe("Succeeded");
});

test("a failing main plan that drains does not drain the final one", () => {
  const which = plan([{ id: "a" }], { policy: { strategy: "Cancel" }, final: plan([{ id: "f" }]) });
  expect(phases(calls(which, [], [failed("a")]))).toEqual({ a: "Failed(Error)", f: "Starting" });
});

test("a plan without steps is done before it begins, and a final plan without steps is none", () => {
  expect(advance(plan([]), newRun, [], 7).run).toMatchObject({ phase: "Succeeded", startedAt: 7, finishedAt: 7 });
  expect(advance(plan([], { final: plan([]) }), newRun, [], 7).run.phase).toBe("Succeeded");
  expect(phases(advance(plan([], { final: plan([{ id: "f" }]) }), newRun, [], 7).run)).toEqual({ f: "Starting" });
});

test("a finished run stays as it is, whatever is said about it", () => {
  const done = calls(plan([{ id: "a" }]), [], [succeeded("a")]);
  expect(advance(of, done, [cancel, alive("a"), failed("a")], 99)).toEqual({ run: done, effects: [], ignored: 1 });
});
