import { expect, test } from "vitest";
import { advance, alwaysGate, createRunCache, type Fact, newRun, type RunPolicy } from "./index.ts";
import { alive, failed, gone, phases, plan, type StepLine, succeeded } from "./testing/build.ts";

const always = { gate: alwaysGate, afterFailure: true };
const lines: readonly StepLine[] = [
  { id: "bad" },
  { id: "after-bad", after: ["bad"] },
  { id: "side" },
  { id: "after-side", after: ["side"] },
  { id: "watch", kind: "observe" },
  { id: "ask", kind: "approval" },
  { id: "clock", kind: "timer", due: () => ({ after: 1_000 }) },
  { id: "mop", after: ["after-bad", "after-side"], ...always },
];

/** Where everything is right after `bad` failed while the others were at work. */
function afterFailure(strategy: RunPolicy["strategy"], fixed: readonly StepLine[] = lines) {
  const of = plan(fixed, { policy: { strategy } });
  const cache = createRunCache();
  const first = advance(of, newRun, [], 1, cache);
  const second = advance(of, first.run, [alive("bad"), alive("side"), alive("watch")], 2, cache);
  const { run } = advance(of, second.run, [failed("bad")], 3, cache);
  return { of, run, cache };
}

const failedAlready = { bad: "Failed(Error)", "after-bad": "Skipped(DependencyFailed)" };

test("Continue skips only the dependants", () => {
  expect(phases(afterFailure("Continue").run)).toEqual({
    ...failedAlready,
    side: "Running",
    watch: "Running",
    ask: "Suspended",
    clock: "Waiting(Timer)",
  });
});

test("Drain starts nothing new, lets work end, and still runs what handles failures", () => {
  const { of, run, cache } = afterFailure("Drain");
  const drained = { ...failedAlready, watch: "Running", ask: "Suspended", clock: "Skipped(RunFailing)" };
  expect(phases(run)).toEqual({ ...drained, side: "Running", "after-side": "Skipped(RunFailing)", mop: "Starting" });
  expect(phases(advance(of, run, [succeeded("side")], 4, cache).run)).toMatchObject({
    side: "Succeeded",
    mop: "Starting",
  });
});

test("Cancel also ends what is active, except what handles failures", () => {
  const { of, run, cache } = afterFailure("Cancel");
  const ended = {
    ...failedAlready,
    watch: "Canceled(RunFailing)",
    ask: "Canceled(RunFailing)",
    clock: "Skipped(RunFailing)",
  };
  expect(phases(run)).toEqual({
    ...ended,
    side: "Cancelling(RunFailing)",
    "after-side": "Skipped(RunFailing)",
    mop: "Starting",
  });
  const { run: last } = advance(of, run, [gone("side"), succeeded("mop")], 4, cache);
  expect(phases(last)).toMatchObject({ side: "Canceled(RunFailing)", mop: "Succeeded" });
  expect(last).toMatchObject({ phase: "Failed", reason: "StepFailed", message: 'step "bad" failed: exit code 1' });
});

test.each(["Drain", "Cancel"] as const)("a forgiven failure does not set off %s", (strategy) => {
  const forgiven = lines.map((line) => (line.id === "bad" ? { ...line, onFailure: "Continue" as const } : line));
  expect(phases(afterFailure(strategy, forgiven).run)).toMatchObject({ "after-bad": "Starting", side: "Running" });
});

test("a failing run that drains repeats no attempt, except of steps that handle failures", () => {
  const retry = { retry: { limit: 3, delay: () => 10 } };
  const { of, run } = afterFailure("Drain", [
    { id: "bad" },
    { id: "side", ...retry },
    { id: "mop", ...retry, ...always },
  ]);
  expect(phases(advance(of, run, [failed("side"), failed("mop")], 4).run)).toMatchObject({
    side: "Failed(Error)",
    mop: "Waiting(Backoff)",
  });
});

test("several failures: the message names the first in topological order and counts the others", () => {
  const of = plan([{ id: "c" }, { id: "a" }, { id: "b" }]);
  const { run } = advance(of, advance(of, newRun, [], 1).run, [failed("b"), failed("a"), succeeded("c")], 2);
  expect(run).toMatchObject({ phase: "Failed", message: 'step "a" failed (and 1 other): exit code 1' });
});

test("a run with a step that a person cancelled, or that lacked its input, is not green", () => {
  const of = plan([{ id: "a" }, { id: "b", gate: () => ({ skip: "InputUnavailable" }) }]);
  const { run } = advance(of, advance(of, newRun, [], 1).run, [succeeded("a")], 2);
  expect(run).toMatchObject({ phase: "Failed", message: 'step "b" was skipped: InputUnavailable' });
  const single = plan([{ id: "a", kind: "observe" }]);
  const canceled = advance(
    single,
    advance(single, newRun, [], 1).run,
    [{ kind: "action", action: "cancel", step: "a" }],
    2,
  ).run;
  expect(canceled).toMatchObject({
    phase: "Failed",
    reason: "StepFailed",
    message: 'step "a" was canceled: StepCanceled',
  });
});

test("a failure is blamed before a cancel, and a cancel before a skip, whatever their order", () => {
  const of = plan([
    { id: "a", gate: () => ({ skip: "InputUnavailable" }) },
    { id: "b", kind: "observe" },
    { id: "c", kind: "observe" },
  ]);
  const cancel = (step: string): Fact => ({ kind: "action", action: "cancel", step });
  const end = (...facts: Fact[]) => advance(of, advance(of, newRun, [], 1).run, facts, 2).run.message;
  expect(end(cancel("b"), failed("c"))).toBe('step "c" failed: exit code 1');
  expect(end(cancel("b"), succeeded("c"))).toBe('step "b" was canceled: StepCanceled');
});
