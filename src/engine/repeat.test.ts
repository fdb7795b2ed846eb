import { expect, test } from "vitest";
import { advance, type Fact, newRun, type PlanStep, type RunState, stepState } from "./index.ts";
import { child, failed, plan, succeeded } from "./testing/build.ts";

const again = (attempt: number): Fact => child("poll", { is: "succeeded", again: true }, attempt);

const loop = (more: Partial<PlanStep> = {}) =>
  plan([{ id: "poll", repeat: { maxIterations: 3, interval: 100 }, ...more }]);

/** Calls at 0, 1000, 2000 and so on: after every pause. */
function calls(which: ReturnType<typeof loop>, ...turns: readonly (readonly Fact[])[]): RunState {
  return [[], ...turns].reduce((run, facts, at) => advance(which, run, facts, at * 1000).run, newRun);
}

test("a round that is not the last is followed by another child after the interval", () => {
  const { run, wakeAt } = advance(loop(), calls(loop()), [again(1)], 50);
  expect(stepState(run, "poll")).toMatchObject({
    phase: "Waiting",
    reason: "Timer",
    iteration: 2,
    attempt: 1,
    notBefore: 150,
  });
  expect([wakeAt, run.phase]).toEqual([150, "Running"]);
  expect(advance(loop(), run, [], 150).effects).toEqual([{ kind: "start", step: "poll", attempt: 2 }]);
});

test("without an interval the next round starts at once", () => {
  const which = loop({ repeat: { maxIterations: 3, interval: 0 } });
  expect(stepState(calls(which, [again(1)]), "poll")).toMatchObject({ phase: "Starting", iteration: 2, attempt: 2 });
});

test("the round that is done ends the step, with what it gave", () => {
  const last = child("poll", { is: "succeeded", outputs: { state: "ready" } }, 2);
  expect(stepState(calls(loop(), [again(1)], [], [last]), "poll")).toMatchObject({
    phase: "Succeeded",
    iteration: 2,
    outputs: { state: "ready" },
  });
});

test("a loop that is not done after its last round has failed", () => {
  expect(stepState(calls(loop(), [again(1)], [], [again(2)], [], [again(3)]), "poll")).toMatchObject({
    phase: "Failed",
    reason: "IterationsExhausted",
    message: "not done after 3 iterations",
  });
});

test("a round that fails is tried again as the same round, and every round has all its tries", () => {
  const which = loop({ retry: { limit: 1, delay: () => 0 } });
  const second = calls(which, [failed("poll", 1)], [again(2)], [], [failed("poll", 3)]);
  expect(stepState(second, "poll")).toMatchObject({ phase: "Starting", iteration: 2, attempt: 4 });
  expect(stepState(calls(which, [failed("poll", 1)], [failed("poll", 2)]), "poll").phase).toBe("Failed");
});

test("a cancelled loop does not pretend to be done", () => {
  const cancelled = calls(loop(), [{ kind: "action", action: "cancel" }], [again(1)]);
  expect(stepState(cancelled, "poll")).toMatchObject({ phase: "Canceled" });
  const done = calls(loop(), [{ kind: "action", action: "cancel" }], [succeeded("poll", 1)]);
  expect(stepState(done, "poll").phase).toBe("Succeeded");
});

test("when the run drains, no further round starts", () => {
  const lines = [{ id: "poll", repeat: { maxIterations: 3, interval: 0 } }, { id: "other" }];
  const which = plan(lines, { policy: { strategy: "Drain" } });
  expect(stepState(calls(which, [failed("other", 1, false)], [again(1)]), "poll")).toMatchObject({
    phase: "Canceled",
    reason: "RunFailing",
  });
});
