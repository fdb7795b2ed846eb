import { expect, test } from "vitest";
import { deadlinesOf } from "./testing/deadlines.ts";
import { advance, createRunCache, type Fact, newRun } from "./index.ts";
import { failed, gone, phases, plan, succeeded } from "./testing/build.ts";

// Cases that generated inputs found, cut down to what matters. Each breaks a law of the property tests when its cause returns.

test("(23) a cancel that ends after the step's own deadline does not begin another attempt", () => {
  const retry = { limit: 2, delay: () => 10 };
  const of = plan([{ id: "a", timeout: 1, deadline: 2, cancelTimeout: 1, retry }, { id: "b" }]);
  let { run } = advance(of, newRun, [], 1_000);
  run = advance(of, run, [], 1_001).run;
  expect(phases(run)).toMatchObject({ a: "Cancelling(Timeout)" });
  const { run: last, wakeAt } = advance(of, run, [], 1_008);
  expect(phases(last)).toMatchObject({ a: "Failed(StepDeadlineExceeded)" });
  expect(deadlinesOf(of, last)).toEqual([]);
  expect(wakeAt).toBeUndefined();
});

test("(15) the end of a child that was never seen counts only once its step is being cancelled, and is reported as ignored until then", () => {
  const of = plan([{ id: "a", deadline: 1 }, { id: "b" }]);
  const { run } = advance(of, newRun, [], 1_000);
  const first = advance(of, run, [gone("a")], 1_007);
  expect(first.ignored).toBe(1);
  expect(phases(first.run)).toMatchObject({ a: "Cancelling(StepDeadlineExceeded)" });
  expect(phases(advance(of, first.run, [gone("a")], 1_007).run)).toMatchObject({ a: "Failed(StepDeadlineExceeded)" });
});

test("(15) a retry of a run that is not finished is ignored, even if the same call finishes it", () => {
  const of = plan([{ id: "a", admission: "Lock", deadline: 1 }]);
  const { run } = advance(of, newRun, [], 1_000);
  const retry: Fact = { kind: "action", action: "retry", number: 1 };
  const { run: done, ignored } = advance(of, run, [retry], 1_007);
  expect(done).toMatchObject({ phase: "Failed", number: 1 });
  expect(ignored).toBe(1);
});

test("a step that settles before its dependencies is not looked at again when they do", () => {
  const of = plan([{ id: "a" }, { id: "b", after: ["a"] }, { id: "c", after: ["b"] }]);
  let { run } = advance(of, newRun, [], 1);
  run = advance(of, run, [{ kind: "action", action: "skip", step: "b" }], 2).run;
  expect(phases(run)).toEqual({ a: "Starting", b: "Skipped(ConditionFalse)", c: "Starting" });
  run = advance(of, run, [succeeded("a")], 3).run;
  expect(phases(run)).toEqual({ a: "Succeeded", b: "Skipped(ConditionFalse)", c: "Starting" });
});

test("(10) a fan-out that a suspension has held back starts once when it is over", () => {
  const fan = { count: () => ({ count: 2 }), failFast: false, outputs: [] };
  const of = plan([{ id: "a", kind: "fan", fan }]);
  const cache = createRunCache();
  const held = advance(of, newRun, [{ kind: "action", action: "suspend" }], 1_000, cache).run;
  expect(phases(held)).toEqual({ a: "Waiting(Ready)" });
  const { run } = advance(of, held, [{ kind: "action", action: "resume" }], 1_010, cache);
  expect(run.steps["a"]).toMatchObject({ phase: "Running", attempt: 1 });
});

test("(23) an item whose start is refused in a run that drains is skipped at once", () => {
  const fan = { count: () => ({ count: 2 }), failFast: false, outputs: [] };
  const of = plan([{ id: "bad" }, { id: "each", kind: "fan", fan }], { policy: { strategy: "Drain" } });
  let { run } = advance(of, newRun, [], 1_000);
  run = advance(of, run, [failed("bad", 1, false)], 1_000).run;
  const item = { index: 0, attempt: 1 };
  const refused: Fact = { kind: "grant", step: "each", attempt: 1, item, granted: false, notBefore: 1_020 };
  ({ run } = advance(of, run, [refused], 1_001));
  expect(run.steps["each"]?.items?.states).toBe("1X1A");
  expect(advance(of, run, [], 1_001).run).toBe(run);
});
