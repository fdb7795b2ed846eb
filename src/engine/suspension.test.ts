import { expect, test } from "vitest";
import { advance, createRunCache, type Fact, newRun, type Plan, type RunState } from "./index.ts";
import { alive, phases, plan, succeeded } from "./testing/build.ts";

const act = (action: "suspend" | "resume" | "cancel"): Fact => ({ kind: "action", action });

/** Several calls in a row, with a cache as a reconciler has one. */
function calls(of: Plan, ...turns: readonly (readonly [now: number, ...facts: Fact[]])[]): RunState {
  const cache = createRunCache();
  return turns.reduce((run, [now, ...facts]) => advance(of, run, facts, now, cache).run, newRun);
}

const pair = plan([{ id: "a" }, { id: "b", after: ["a"] }], { policy: { strategy: "Continue", deadline: 100 } });

test("a suspended run starts nothing new, and what runs goes on", () => {
  const run = calls(pair, [0], [10, act("suspend"), alive("a")], [20, succeeded("a")]);
  expect(run.phase).toBe("Suspended");
  expect(phases(run)).toEqual({ a: "Succeeded", b: "Waiting(Ready)" });
  expect(phases(advance(pair, run, [act("resume")], 30).run)).toMatchObject({ b: "Starting" });
});

test("time spent suspended does not count against the run's deadline", () => {
  const run = calls(pair, [0], [10, act("suspend")], [500], [510, act("resume")]);
  expect(run).toMatchObject({ phase: "Running", suspendedFor: 500 });
  expect(run).not.toHaveProperty("suspendedSince");
  expect(advance(pair, run, [], 599).run.closing).toBeUndefined();
  expect(advance(pair, run, [], 600).run.closing).toBe("Deadline");
});

test("neither does it count against the deadline of a step that waits, or the time to approve", () => {
  const of = plan([
    { id: "lock", admission: "Lock", deadline: 100 },
    { id: "ask", kind: "approval", timeout: 100 },
    { id: "late", kind: "timer", due: () => ({ after: 60 }) },
    { id: "late-ask", kind: "approval", after: ["late"], timeout: 100 },
  ]);
  const run = calls(of, [0], [50, act("suspend")], [60], [150, act("resume")]);
  expect(run.steps["lock"]?.suspendedFor).toBe(100);
  expect(run.steps["late-ask"]).toMatchObject({ phase: "Suspended", suspendedFor: 90, startedAt: 150 });
  expect(advance(of, run, [], 199).run).toBe(run);
  expect(phases(advance(of, run, [], 200).run)).toMatchObject({
    lock: "Failed(StepDeadlineExceeded)",
    ask: "Failed(Rejected)",
    "late-ask": "Suspended",
  });
});

test("a run that is suspended before it starts begins its clock when it is resumed", () => {
  const asleep: Plan = { ...pair, policy: { ...pair.policy, suspended: true } };
  let run = calls(asleep, [0], [1_000]);
  expect(run).toMatchObject({ phase: "Suspended", suspendedFor: 0, suspendedSince: 0 });
  expect(run.startedAt).toBeUndefined();
  run = advance(pair, run, [], 2_000).run;
  expect(run).toMatchObject({ phase: "Running", startedAt: 2_000, suspendedFor: 0 });
});

test("a person cannot resume what the policy suspends", () => {
  const asleep: Plan = { ...pair, policy: { ...pair.policy, suspended: true } };
  const run = calls(asleep, [0], [10, act("suspend")], [20, act("resume")]);
  expect(run.phase).toBe("Suspended");
  expect(run).not.toHaveProperty("suspendRequested");
});

test("suspension holds final steps back and their deadline still", () => {
  const of = plan([{ id: "a" }], { final: plan([{ id: "f" }], { policy: { strategy: "Continue", deadline: 10 } }) });
  const before = calls(of, [0], [5, act("suspend")], [10, succeeded("a")]);
  expect(before).toMatchObject({ phase: "Suspended" });
  expect(before.final).toBeUndefined();
  const during = calls(of, [0], [10, succeeded("a")], [15, act("suspend")], [500], [510, act("resume")]);
  expect(during.final).toEqual({ startedAt: 10, suspendedFor: 495 });
  expect(advance(of, during, [], 514).run.final?.closing).toBeUndefined();
  expect(advance(of, during, [], 515).run.final?.closing).toBe("Deadline");
});

test("a run is Suspended when everything that has begun waits for a person", () => {
  const of = plan([
    { id: "ask", kind: "approval" },
    { id: "b", after: ["ask"] },
    { id: "g", kind: "group", group: plan([{ id: "ask", kind: "approval" }]) },
  ]);
  const run = calls(of, [0]);
  expect(phases(run)).toEqual({ ask: "Suspended", g: "Running", "g/ask": "Suspended" });
  expect(run.phase).toBe("Suspended");
  expect(calls(plan([{ id: "ask", kind: "approval" }, { id: "b" }]), [0]).phase).toBe("Running");
});

test("cancelling lifts a suspension, so that the run can end", () => {
  const of = plan([{ id: "a", kind: "approval" }], { final: plan([{ id: "f" }]) });
  const run = calls(of, [0], [10, act("suspend")], [20, act("cancel")]);
  expect(run).toMatchObject({ phase: "Cancelling", closing: "Cancel", suspendedFor: 10 });
  expect(phases(run)).toEqual({ a: "Canceled(RunCanceled)", f: "Starting" });
  expect(advance(of, run, [act("suspend")], 30)).toMatchObject({ run, ignored: 1 });
});

test("a run that its policy suspends can be cancelled, and ends", () => {
  const of = plan([{ id: "a" }], { final: plan([{ id: "f" }]), policy: { strategy: "Continue", suspended: true } });
  const run = calls(of, [0], [10], [20, act("cancel")]);
  expect(run).toMatchObject({ phase: "Cancelling" });
  expect(phases(run)).toEqual({ a: "Canceled(RunCanceled)", f: "Starting" });
});

test("a clock that jumps back takes no time from anybody", () => {
  const run = calls(pair, [1_000], [1_500, act("suspend")], [1_200, act("resume")]);
  expect(run.suspendedFor).toBe(0);
});
