import { expect, test } from "vitest";
import { advance, createRunCache, defaultGate, effectsOf, newRun, type Plan } from "./index.ts";
import { alive, phases, plan, succeeded } from "./testing/build.ts";

const of = plan([{ id: "a" }, { id: "b", after: ["a"] }]);

test("a run that does not change is the very object that was given", () => {
  const cache = createRunCache();
  const { run } = advance(of, newRun, [], 1, cache);
  expect(advance(of, run, [], 2, cache).run).toBe(run);
  expect(advance(of, run, [], 2).run).toBe(run);
});

test("states of steps that did not change are shared with the run before", () => {
  const { run } = advance(of, newRun, [], 1);
  const next = advance(of, run, [succeeded("a")], 2).run;
  const last = advance(of, next, [alive("b")], 3).run;
  expect(last.steps["a"]).toBe(next.steps["a"]);
  expect(run.steps).not.toHaveProperty("b");
});

test("a cache that belongs to another run or an older state is not believed", () => {
  const cache = createRunCache();
  const first = advance(of, newRun, [], 1, cache).run;
  const second = advance(of, first, [succeeded("a")], 2, cache).run;
  expect(advance(of, first, [alive("a")], 3, cache).run).toEqual(advance(of, first, [alive("a")], 3).run);
  expect(advance(of, second, [], 4, cache).run).toBe(second);
});

test("a cache of an older plan is not believed", () => {
  const cache = createRunCache();
  const { run } = advance(of, newRun, [], 1, cache);
  const longer: Plan = plan([{ id: "a" }, { id: "b", after: ["a"] }, { id: "c" }]);
  expect(phases(advance(longer, run, [], 2, cache).run)).toEqual({ a: "Starting", c: "Starting" });
});

test("a gate that throws leaves no half-done cache behind", () => {
  let broken = true;
  const gate: typeof defaultGate = (scope) => {
    if (broken) throw new Error("a bug in a gate");
    return defaultGate(scope);
  };
  const shaky = plan([{ id: "a" }, { id: "b", after: ["a"], gate }]);
  const cache = createRunCache();
  const { run } = advance(shaky, newRun, [], 1, cache);
  expect(() => advance(shaky, run, [succeeded("a")], 2, cache)).toThrow("a bug in a gate");
  broken = false;
  const { run: next, effects } = advance(shaky, run, [succeeded("a")], 3, cache);
  expect(phases(next)).toEqual({ a: "Succeeded", b: "Starting" });
  expect(effects).toEqual(effectsOf(shaky, next));
});
