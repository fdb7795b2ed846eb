import { expect, test } from "vitest";
import { advance, createRunCache, type Fact, idleItems, newRun, type RunState, stepState } from "./index.ts";
import { plan } from "./testing/build.ts";

const gated = plan([
  {
    id: "each",
    kind: "fan",
    fan: { count: () => ({ count: 3 }), failFast: false, outputs: [], admission: "Lock", maxParallel: 2 },
  },
]);

const grant = (index: number, attempt = 0): Fact => ({
  kind: "grant",
  step: "each",
  attempt: 1,
  item: { index, attempt },
  granted: true,
});
const ended = (index: number, is: "succeeded" | "failed"): Fact => ({
  kind: "child",
  step: "each",
  attempt: 1,
  item: { index, attempt: 1 },
  state: is === "failed" ? { is, reason: "Error", retryable: false } : { is },
});
const states = (run: RunState) => stepState(run, "each").items?.states;

test("items of a fan-out that needs grants start only when they are named", () => {
  const opened = advance(gated, newRun, [], 0);
  expect(states(opened.run)).toBe("3P");
  expect(opened.effects).toEqual([]);
  const { run, effects } = advance(gated, opened.run, [grant(1)], 1);
  expect(states(run)).toBe("1P1A1P");
  expect(effects).toEqual([{ kind: "start", step: "each", attempt: 1, item: { index: 1, attempt: 1 } }]);
  expect(idleItems(stepState(run, "each"))).toEqual([
    { index: 0, attempt: 0 },
    { index: 2, attempt: 0 },
  ]);
  expect(idleItems(stepState(run, "each"), 1)).toHaveLength(1);
});

test.each([["kept"], ["made anew"]])(
  "a grant that finds no slot is forgotten with its call, the books being %s",
  (books) => {
    const cache = books === "kept" ? createRunCache() : undefined;
    const start = advance(gated, newRun, [], 0, cache).run;
    const full = advance(gated, start, [grant(0), grant(1), grant(2)], 1, cache).run;
    expect(states(full)).toBe("2A1P");
    const freed = advance(gated, full, [ended(0, "succeeded")], 2, cache).run;
    expect(states(freed)).toBe("1S1A1P");
    expect(states(advance(gated, freed, [grant(2)], 3, cache).run)).toBe("1S2A");
  },
);

test("what items wait for is told once, and no more when one of them gets it", () => {
  const start = advance(gated, newRun, [], 0).run;
  const held: Fact = { kind: "grant", step: "each", granted: false, reason: "Lock", message: "held by deploy-7" };
  const told = advance(gated, start, [held], 1).run;
  expect(stepState(told, "each")).toMatchObject({ phase: "Running", reason: "Lock", message: "held by deploy-7" });
  expect(advance(gated, told, [held], 2).run).toBe(told);
  expect(stepState(advance(gated, told, [grant(0)], 3).run, "each")).not.toHaveProperty("message");
});

test("a grant of an item that is active, settled or at another attempt is stale", () => {
  const start = advance(gated, newRun, [], 0).run;
  const running = advance(gated, start, [grant(0)], 1).run;
  for (const stale of [grant(0), grant(0, 1), grant(1, 1)])
    expect(advance(gated, running, [stale], 2)).toMatchObject({ run: running, ignored: 1 });
  const failed = advance(gated, running, [ended(0, "failed")], 3).run;
  expect(advance(gated, failed, [grant(0, 1)], 4)).toMatchObject({ run: failed, ignored: 1 });
});
