import { expect, test } from "vitest";
import { advance, createRunCache, type Fact, newRun, type RunState } from "./index.ts";
import { phases, plan, succeeded } from "./testing/build.ts";

const why = { reason: "Queued", message: "deploy-6 is before it" };
const policy = { strategy: "Continue" as const, deadline: 100 };
const free = plan([{ id: "a" }], { policy });
const held = plan([{ id: "a" }], { policy: { ...policy, held: why } });
const retry: Fact = { kind: "action", action: "retry", steps: ["a"] };

/** A run that was held, let go, and has ended. */
function ended(): RunState {
  const started = advance(free, newRun, [], 0).run;
  return advance(free, started, [succeeded("a")], 1).run;
}

test("a held run stays Pending and says why, once; let go it begins, and its deadline counts from then", () => {
  const cache = createRunCache();
  const { run, effects, wakeAt } = advance(held, newRun, [], 0, cache);
  expect(run).toMatchObject({ phase: "Pending", ...why, steps: {} });
  expect(run).not.toHaveProperty("startedAt");
  expect({ effects, wakeAt }).toEqual({ effects: [], wakeAt: undefined });
  expect(advance(held, run, [], 500, cache).run).toBe(run);
  const begun = advance(free, run, [], 1_000, cache);
  expect(begun).toMatchObject({ run: { phase: "Running", startedAt: 1_000 }, wakeAt: 1_100 });
  expect(begun.run).not.toHaveProperty("message");
});

test("a run that has begun is not held any more", () => {
  const { run } = advance(free, newRun, [], 0);
  expect(advance(held, run, [succeeded("a")], 1).run.phase).toBe("Succeeded");
});

test("a retry of a finished run is held like a new one", () => {
  const { run } = advance(held, ended(), [retry], 5);
  expect(run).toMatchObject({ phase: "Pending", number: 2, ...why });
  expect(phases(advance(free, run, [], 6).run)).toEqual({ a: "Starting" });
});

test("a held run can be suspended, resumed and cancelled", () => {
  const action = (name: "suspend" | "resume" | "cancel"): Fact => ({ kind: "action", action: name });
  const { run } = advance(held, newRun, [action("suspend")], 0);
  expect(run.phase).toBe("Suspended");
  const resumed = advance(held, run, [action("resume")], 1).run;
  expect(resumed.phase).toBe("Pending");
  expect(advance(held, resumed, [action("cancel")], 2).run).toMatchObject({ phase: "Canceled" });
});
