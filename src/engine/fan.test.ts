import { describe, expect, test } from "vitest";
import {
  advance,
  createRunCache,
  diff,
  type Fact,
  newRun,
  type Plan,
  reset,
  type RunPolicy,
  type RunState,
  stepState,
} from "./index.ts";
import { decodePhases, decodeRanges, encodePhases, encodeRanges } from "./items.ts";
import { plan, type StepLine } from "./testing/build.ts";

const fanOf = (count: number, more: Partial<NonNullable<StepLine["fan"]>> = {}): StepLine => ({
  id: "each",
  kind: "fan",
  fan: { count: () => ({ count }), failFast: false, outputs: [], ...more },
});

const of = (line: StepLine, policy: RunPolicy = { strategy: "Continue" }, others: readonly StepLine[] = []): Plan =>
  plan([line, ...others], { policy });

type Seen = "alive" | "succeeded" | "failed" | "gone" | "refused";

const about = (index: number, is: Seen, attempt = 1, outputs?: Record<string, string>): Fact =>
  is === "refused"
    ? { kind: "grant", step: "each", granted: false, attempt: 1, item: { index, attempt }, message: "no room" }
    : {
        kind: "child",
        step: "each",
        attempt: 1,
        item: { index, attempt },
        state:
          is === "failed"
            ? { is, reason: "Error", message: "exit code 1", retryable: true }
            : is === "succeeded"
              ? { is, ...(outputs === undefined ? {} : { outputs }) }
              : { is },
      };

/** Calls 10 ms apart, the first without facts. */
function calls(which: Plan, ...turns: readonly (readonly Fact[])[]): RunState {
  const cache = createRunCache();
  return [[], ...turns].reduce((run, facts, at) => advance(which, run, facts, at * 10, cache).run, newRun);
}

const items = (run: RunState): string | undefined => stepState(run, "each").items?.states;

test("items whose condition is false are skipped, and do not keep the step from succeeding", () => {
  const which = of(fanOf(0, { count: () => ({ count: 3, skipped: [0, 2] }), outputs: ["n"] }));
  expect(items(calls(which))).toBe("1K1A1K");
  const end = calls(which, [about(1, "succeeded", 1, { n: "b" })]);
  expect(stepState(end, "each")).toMatchObject({ phase: "Succeeded", outputs: { n: [null, "b", null] } });
  const none = calls(of(fanOf(0, { count: () => ({ count: 2, skipped: [0, 1] }) })));
  expect(stepState(none, "each")).toMatchObject({ phase: "Succeeded", items: { states: "2K" } });
  const failed = calls(which, [about(1, "failed")]);
  const again = reset(which, failed);
  if (!again.ok) throw new Error(again.error);
  expect(items(advance(which, again.value, [], 99).run)).toBe("1K1A1K");
});

test("a fan-out starts a child for each item, and is as good as all of them", () => {
  const which = of(fanOf(3));
  const { run, effects } = advance(which, newRun, [], 0);
  expect(stepState(run, "each")).toMatchObject({ phase: "Running", attempt: 1, items: { total: 3, states: "3A" } });
  expect(effects).toEqual(
    [0, 1, 2].map((index) => ({ kind: "start", step: "each", attempt: 1, item: { index, attempt: 1 } })),
  );
  const middle = calls(which, [about(0, "alive"), about(2, "succeeded")]);
  expect(items(middle)).toBe("1R1A1S");
  const done = calls(
    which,
    [0, 1, 2].map((index) => about(index, "succeeded")),
  );
  expect(stepState(done, "each")).toMatchObject({ phase: "Succeeded", items: { states: "3S" } });
  expect(done.phase).toBe("Succeeded");
});

test("without items there is nothing to do, and nothing to start", () => {
  const { run, effects } = advance(of(fanOf(0, { outputs: ["digest"] })), newRun, [], 0);
  expect(stepState(run, "each")).toMatchObject({ phase: "Succeeded", outputs: { digest: [] }, items: { total: 0 } });
  expect(effects).toEqual([]);
});

test("a number of items that cannot be told fails the step with the reason given", () => {
  const asked = (count: () => { error: string; reason?: string }) =>
    stepState(
      advance(of({ id: "each", kind: "fan", fan: { count, failFast: false, outputs: [] } }), newRun, [], 0).run,
      "each",
    );
  expect(asked(() => ({ error: "300 items, at most 256", reason: "TooManyItems" }))).toMatchObject({
    phase: "Failed",
    reason: "TooManyItems",
    message: "300 items, at most 256",
  });
  expect(asked(() => ({ error: "no such key" }))).toMatchObject({ reason: "ExpressionError" });
});

describe("limits", () => {
  test("its own limit holds items back, and the next one starts when one has ended", () => {
    const which = of(fanOf(5, { maxParallel: 2 }));
    expect(items(calls(which))).toBe("2A3P");
    expect(items(calls(which, [about(1, "succeeded")]))).toBe("1A1S1A2P");
  });

  test("items share the slots of the run with other steps", () => {
    const which = of(fanOf(3), { strategy: "Continue", parallelism: 2 }, [{ id: "other" }]);
    const run = calls(which, [about(0, "succeeded")], [about(1, "succeeded")]);
    expect([items(run), stepState(run, "other").phase]).toEqual(["2S1A", "Starting"]);
  });

  test("an attempt of an item has the time the step gives it; it is cancelled, and then tried again or failed", () => {
    const which = of({ ...fanOf(2), timeout: 15, retry: { limit: 1, delay: () => 0 } });
    const late = calls(which, [about(0, "alive"), about(1, "succeeded")], []);
    expect(items(late)).toBe("1C1S");
    const cancel = { kind: "cancel", step: "each", attempt: 1, item: { index: 0, attempt: 1 } };
    expect(advance(which, late, [], 20).effects).toEqual([cancel]);
    const again = advance(which, late, [about(0, "gone")], 30);
    expect(stepState(again.run, "each").items).toEqual({ total: 2, states: "1A1S", attempts: "0:2", since: "0:30" });
    expect(again.wakeAt).toBe(45);
  });

  test("the deadline of the step is for all items together", () => {
    const which = of({ ...fanOf(3, { maxParallel: 1 }), deadline: 5 });
    const run = calls(which, []);
    expect([stepState(run, "each").phase, items(run)]).toEqual(["Cancelling", "1C2X"]);
    expect(stepState(calls(which, [], [about(0, "gone")]), "each")).toMatchObject({
      phase: "Failed",
      reason: "StepDeadlineExceeded",
    });
  });
});

describe("failures", () => {
  test("an item is tried again after a pause of its own", () => {
    const which = of({ ...fanOf(3), retry: { limit: 1, delay: () => 100 } });
    const run = calls(which, [about(1, "failed")]);
    expect(stepState(run, "each").items).toEqual({ total: 3, states: "1A1W1A", waits: "1:110" });
    const later = advance(which, run, [], 110);
    expect([items(later.run), stepState(later.run, "each").items?.attempts]).toEqual(["3A", "1:2"]);
  });

  test("the step fails when all have ended, and says how many and why", () => {
    const which = of(fanOf(4));
    const run = calls(which, [about(1, "failed"), about(3, "failed"), about(0, "succeeded")]);
    expect(stepState(run, "each").phase).toBe("Running");
    const end = calls(which, [about(1, "failed"), about(3, "failed"), about(0, "succeeded")], [about(2, "succeeded")]);
    expect(stepState(end, "each")).toMatchObject({
      phase: "Failed",
      reason: "ItemsFailed",
      message: "2 of 4 items failed, first item 1: Error: exit code 1",
      items: { states: "1S1F1S1F" },
    });
  });

  test("with failFast the first failure cancels the others", () => {
    const which = of(fanOf(4, { failFast: true, maxParallel: 2 }));
    const run = calls(which, [about(0, "alive"), about(1, "failed")]);
    expect(items(run)).toBe("1C1F2X");
    expect(stepState(calls(which, [about(1, "failed")], [about(0, "gone")]), "each").phase).toBe("Failed");
  });

  test("the first ten are noted, for events", () => {
    const which = of(fanOf(12));
    const before = calls(which);
    const after = calls(
      which,
      Array.from({ length: 12 }, (_, index) => about(index, "failed")),
    );
    const notes = diff(before, after).filter(({ kind }) => kind === "item");
    expect(notes).toHaveLength(10);
    expect(notes[0]).toEqual({
      kind: "item",
      step: "each",
      index: 0,
      attempt: 1,
      reason: "Error",
      message: "exit code 1",
    });
  });

  test("a refused start costs no attempt, and what was said is shown", () => {
    const which = of(fanOf(2, { maxParallel: 1 }));
    const run = calls(which, [about(0, "refused")]);
    expect(stepState(run, "each")).toMatchObject({ message: "no room", items: { states: "1A1P" } });
    expect(stepState(run, "each").items?.attempts).toBeUndefined();
  });

  test("a child that vanished is a failed attempt", () => {
    const run = calls(of(fanOf(1)), [about(0, "alive")], [about(0, "gone")]);
    expect(stepState(run, "each").items?.failures).toEqual([{ index: 0, attempt: 1, reason: "ChildDeleted" }]);
  });
});

describe("outputs", () => {
  test("are lists in the order of the items, null where an item gave none", () => {
    const which = of({ ...fanOf(4, { outputs: ["digest"] }), onFailure: "Continue" });
    const end = calls(
      which,
      [about(2, "succeeded", 1, { digest: "c" })],
      [about(0, "succeeded", 1, { digest: "a" }), about(1, "failed"), about(3, "succeeded")],
    );
    expect(stepState(end, "each").outputs).toEqual({ digest: ["a", null, "c", null] });
  });

  test("are seen by dependants that start in the same call", () => {
    const seen: unknown[] = [];
    const which = of(fanOf(1, { outputs: ["n"] }), undefined, [
      {
        id: "after",
        after: ["each"],
        gate: (scope) => {
          seen.push(scope.state("each").outputs);
          return { run: true };
        },
      },
    ]);
    calls(which, [about(0, "succeeded", 1, { n: "1" })]);
    expect(seen).toEqual([{ n: ["1"] }]);
  });
});

describe("ends", () => {
  test("a cancel ends what runs and never starts what waits", () => {
    const which = of(fanOf(3, { maxParallel: 1 }));
    const run = calls(which, [{ kind: "action", action: "cancel" }]);
    expect([stepState(run, "each").phase, items(run)]).toEqual(["Cancelling", "1C2X"]);
    const end = calls(which, [{ kind: "action", action: "cancel" }], [about(0, "gone")]);
    expect(stepState(end, "each")).toMatchObject({ phase: "Canceled", reason: "RunCanceled" });
  });

  test("work that was done before the cancel reached it is done", () => {
    const end = calls(of(fanOf(1)), [{ kind: "action", action: "cancel" }], [about(0, "succeeded")]);
    expect([stepState(end, "each").phase, end.phase]).toEqual(["Succeeded", "Canceled"]);
  });

  test("a failure elsewhere with the strategy Drain lets running items end and skips the others", () => {
    const which = of(fanOf(3, { maxParallel: 1 }), { strategy: "Drain" }, [{ id: "other" }]);
    const broken: Fact = {
      kind: "child",
      step: "other",
      attempt: 1,
      state: { is: "failed", reason: "Error", retryable: false },
    };
    expect(items(calls(which, [broken]))).toBe("1A2X");
    expect(stepState(calls(which, [broken], [about(0, "succeeded")]), "each")).toMatchObject({
      phase: "Canceled",
      reason: "RunFailing",
    });
  });

  test("a suspended run starts no further item", () => {
    const which = of(fanOf(2, { maxParallel: 1 }));
    expect(items(calls(which, [{ kind: "action", action: "suspend" }, about(0, "succeeded")]))).toBe("1S1P");
  });
});

describe("a retry of the run", () => {
  const which = of({ ...fanOf(4, { outputs: ["n"] }), retry: { limit: 1, delay: () => 0 } });
  const ended = calls(
    which,
    [about(0, "succeeded", 1, { n: "a" }), about(1, "failed"), about(2, "succeeded"), about(3, "succeeded")],
    [about(1, "failed", 2)],
  );
  const again = (steps?: readonly string[]): RunState => {
    const result = reset(which, ended, steps === undefined ? {} : { steps });
    if (!result.ok) throw new Error(result.error);
    return result.value;
  };

  test("repeats only the items that failed, under new names, with all their tries", () => {
    const { run, effects } = advance(which, again(), [], 100);
    expect(effects).toEqual([{ kind: "start", step: "each", attempt: 2, item: { index: 1, attempt: 3 } }]);
    const failure = { ...about(1, "failed", 3), attempt: 2 } as Fact;
    expect(stepState(advance(which, run, [failure], 110).run, "each").items).toMatchObject({
      states: "1S1A2S",
      attempts: "1:4",
      earlier: "1:2",
    });
    const success = { ...about(1, "succeeded", 3, { n: "b" }), attempt: 2 } as Fact;
    expect(stepState(advance(which, run, [success], 110).run, "each")).toMatchObject({
      phase: "Succeeded",
      outputs: { n: ["a", "b", null, null] },
    });
  });

  test("repeats all items of a step that is named", () => {
    const { run, effects } = advance(which, again(["each"]), [], 100);
    expect([items(run), stepState(run, "each").outputs]).toEqual(["4A", undefined]);
    expect(effects.map(({ item }) => item?.attempt)).toEqual([2, 3, 2, 2]);
  });
});

test("a repeated list of another length has children of its own: no attempt is anybody's twice", () => {
  let count = 3;
  const which = of({ id: "each", kind: "fan", fan: { count: () => ({ count }), failFast: false, outputs: [] } });
  const ended = calls(
    which,
    [0, 1, 2].map((index) => about(index, "succeeded")),
  );
  const again = reset(which, ended, { steps: ["each"] });
  if (!again.ok) throw new Error(again.error);
  count = 2;
  const { run, effects } = advance(which, again.value, [], 100);
  expect(effects.map(({ item }) => item)).toEqual([
    { index: 0, attempt: 2 },
    { index: 1, attempt: 2 },
  ]);
  expect(stepState(run, "each").items).toMatchObject({ total: 2, states: "2A", earlier: "0-1:1" });
});

describe("texts", () => {
  test("states are run-length coded in index order", () => {
    const text = "120S1F4R875P";
    expect(encodePhases(decodePhases(text, 1000))).toBe(text);
  });

  test("what cannot be read is canceled: nothing is run because a text was damaged", () => {
    expect(encodePhases(decodePhases("2S?", 4))).toBe("2S2X");
    expect(encodePhases(decodePhases("9S", 4))).toBe("4S");
  });

  test("numbers of neighbours are ranges", () => {
    const entries: [number, number][] = [
      [0, 2],
      [1, 2],
      [2, 2],
      [5, 3],
      [6, 2],
    ];
    const text = encodeRanges(entries);
    expect(text).toBe("0-2:2,5:3,6:2");
    const read: [number, number][] = [];
    decodeRanges(text, 10, (index, value) => void read.push([index, value]));
    expect(read).toEqual(entries);
    decodeRanges("0-999999999:1", 3, (index) => expect(index).toBeLessThan(3));
  });

  test("a fan-out of 10,000 items is small, whatever becomes of them", () => {
    const which = of({ ...fanOf(10_000, { maxParallel: 64 }), retry: { limit: 2, delay: () => 50 }, timeout: 1_000 });
    const cache = createRunCache();
    let { run, effects } = advance(which, newRun, [], 0, cache);
    let largest = 0;
    for (let now = 7; run.phase === "Running"; now += 7) {
      const facts = effects.flatMap(({ item }): Fact[] =>
        item === undefined ? [] : [about(item.index, item.index % 9 === 0 ? "failed" : "succeeded", item.attempt)],
      );
      ({ run, effects } = advance(which, run, facts, now, cache));
      largest = Math.max(largest, JSON.stringify(run).length);
    }
    expect(stepState(run, "each")).toMatchObject({
      phase: "Failed",
      message: expect.stringMatching(/^1112 of 10000 items failed/),
    });
    expect(largest).toBeLessThan(30 * 1024);
  }, 60_000);
});
