import { expect, test } from "vitest";
import { advance, createRunCache, type Fact, newRun, type RunState } from "./index.ts";
import { alive, child, failed, phases, plan, succeeded } from "./testing/build.ts";

const locked = plan([{ id: "a", admission: "Lock" }]);
const free = plan([{ id: "a", retry: { limit: 0, delay: () => 0 } }]);
const grant: Fact = { kind: "grant", step: "a", granted: true };
const refuse: Fact = {
  kind: "grant",
  step: "a",
  granted: false,
  attempt: 1,
  reason: "Quota",
  message: "exceeded quota",
  notBefore: 50,
};

const go = (of: typeof locked, run: RunState, facts: readonly Fact[], now: number) => advance(of, run, facts, now);

test("a step with admission waits for its grant and starts when it comes", () => {
  const waiting = go(locked, newRun, [], 1);
  expect(phases(waiting.run)).toEqual({ a: "Waiting(Lock)" });
  expect(waiting.effects).toEqual([]);
  const started = go(locked, waiting.run, [grant], 2);
  expect(started.effects).toEqual([{ kind: "start", step: "a", attempt: 1 }]);
});

test("a lock that is told to be held by somebody says so once", () => {
  const { run } = go(locked, newRun, [], 1);
  const held: Fact = { kind: "grant", step: "a", granted: false, reason: "Lock", message: "held by deploy-7" };
  const told = go(locked, run, [held], 2).run;
  expect(told.steps["a"]?.message).toBe("held by deploy-7");
  expect(go(locked, told, [held], 3).run).toBe(told);
});

test("a refused start costs no attempt: the same one is started again, at its time or by a grant", () => {
  const { run } = go(free, newRun, [], 1);
  const refused = go(free, run, [refuse], 2);
  expect(refused.run.steps["a"]).toMatchObject({
    phase: "Waiting",
    reason: "Quota",
    attempt: 1,
    notBefore: 50,
    refused: true,
  });
  expect(refused).toMatchObject({ effects: [], wakeAt: 50 });
  for (const again of [go(free, refused.run, [], 50), go(free, refused.run, [grant], 3)]) {
    expect(again.effects).toEqual([{ kind: "start", step: "a", attempt: 1 }]);
    expect(again.run.steps["a"]).not.toHaveProperty("refused");
  }
});

test("a refused start can fail or turn out to have succeeded", () => {
  const refused = go(free, go(free, newRun, [], 1).run, [refuse], 2).run;
  expect(phases(go(free, refused, [failed("a", 1, false)], 3).run)).toEqual({ a: "Failed(Error)" });
  expect(phases(go(free, refused, [succeeded("a")], 3).run)).toEqual({ a: "Succeeded" });
});

test("work that was refused holds no slot and so is not running; a reference that was missing may appear", () => {
  const refused = go(free, go(free, newRun, [], 1).run, [refuse], 2).run;
  expect(go(free, refused, [alive("a")], 3)).toMatchObject({ run: refused, ignored: 1 });
  const observing = plan([{ id: "a", kind: "observe" }]);
  const missing: Fact = { kind: "grant", step: "a", granted: false, attempt: 1, reason: "ReferenceNotFound" };
  const absent = go(observing, go(observing, newRun, [], 1).run, [missing], 2).run;
  expect(phases(absent)).toEqual({ a: "Waiting(ReferenceNotFound)" });
  expect(phases(go(observing, absent, [child("a", { is: "alive" })], 3).run)).toEqual({ a: "Running" });
});

test("a refusal of another attempt, or of a running one, is stale", () => {
  const running = go(free, go(free, newRun, [], 1).run, [alive("a")], 2).run;
  expect(go(free, running, [refuse], 3)).toMatchObject({ run: running, ignored: 1 });
  const { run } = go(free, newRun, [], 1);
  expect(go(free, run, [{ kind: "grant", step: "a", granted: false, attempt: 2 }], 3).run).toBe(run);
});

test("granted and refused at once means granted", () => {
  const { run } = go(locked, newRun, [], 1);
  const no: Fact = { kind: "grant", step: "a", granted: false, reason: "Lock" };
  expect(phases(go(locked, run, [no, grant], 2).run)).toEqual({ a: "Starting" });
});

test("a refused step of a failing run that drains is skipped like any other that waits", () => {
  const draining = plan([{ id: "a" }, { id: "b" }], { policy: { strategy: "Drain" } });
  for (const cache of [undefined, createRunCache()]) {
    let { run } = advance(draining, newRun, [], 1, cache);
    run = advance(draining, run, [failed("b")], 2, cache).run;
    expect(phases(run)).toEqual({ a: "Starting", b: "Failed(Error)" });
    run = advance(draining, run, [refuse], 3, cache).run;
    expect(phases(run)).toEqual({ a: "Skipped(RunFailing)", b: "Failed(Error)" });
  }
});
