import { expect, test } from "vitest";
import { advance, type Fact, newRun, type PlanStep, planStep, type RunState, type StepState } from "./index.ts";
import { alive, child, failed, gone, plan, succeeded } from "./testing/build.ts";

const now = 10_000;

/** What becomes of one step (called `a`) in this state, in this run, with these facts. */
function after(
  step: Partial<PlanStep>,
  state: StepState,
  facts: readonly Fact[],
  run: Partial<RunState> = {},
): StepState | undefined {
  const single = plan([planStep({ ...step, id: "a" }), { id: "other", kind: "approval" }]);
  const before: RunState = { ...newRun, phase: "Running", startedAt: 0, ...run, steps: { a: state } };
  return advance(single, before, facts, now).run.steps["a"];
}

const starting: StepState = { phase: "Starting", attempt: 1, readyAt: 1, startedAt: 1 };
const running: StepState = { ...starting, phase: "Running" };
const cancelling: StepState = { ...starting, phase: "Cancelling", cancelledAt: 5, reason: "StepCanceled" };
const timedOut: StepState = { ...cancelling, reason: "Timeout", message: "too slow" };
const suspended: StepState = { phase: "Suspended", attempt: 0, readyAt: 1, startedAt: 1 };
const twice = { retry: { limit: 1, delay: (n: number) => n * 700 } };

const act = (action: "approve" | "reject" | "cancel" | "skip" | "resume"): Fact => ({
  kind: "action",
  action,
  step: "a",
  by: "anna",
});

type Row = readonly [name: string, step: Partial<PlanStep>, from: StepState, facts: readonly Fact[], to: object];

const table: readonly Row[] = [
  ["Starting, child alive", {}, starting, [alive("a")], { phase: "Running", startedAt: 1 }],
  ["Starting, child succeeded", {}, starting, [succeeded("a")], { phase: "Succeeded", finishedAt: now }],
  ["Running, child succeeded", {}, running, [succeeded("a")], { phase: "Succeeded", finishedAt: now }],
  ["Starting, child gone: it was never there", {}, starting, [gone("a")], starting],
  ["Running, child failed", {}, running, [failed("a")], { phase: "Failed", reason: "Error", message: "exit code 1" }],
  [
    "Running, child failed, retries left",
    twice,
    running,
    [failed("a")],
    { phase: "Waiting", reason: "Backoff", attempt: 1, notBefore: now + 700, message: "attempt 1: Error: exit code 1" },
  ],
  ["Running, child failed for good", twice, running, [failed("a", 1, false)], { phase: "Failed", reason: "Error" }],
  ["Running, second failure", twice, { ...running, attempt: 2 }, [failed("a", 2)], { phase: "Failed", attempt: 2 }],
  [
    "attempts of an earlier run number do not count",
    twice,
    { ...running, attempt: 4, earlierAttempts: 3 },
    [failed("a", 4)],
    { phase: "Waiting", reason: "Backoff", notBefore: now + 700 },
  ],
  ["Running, child gone", {}, running, [gone("a")], { phase: "Failed", reason: "ChildDeleted" }],
  ["Running, child gone, retries left", twice, running, [gone("a")], { phase: "Waiting", reason: "Backoff" }],
  [
    "a policy that does not repeat lost children",
    { retry: { ...twice.retry, retryable: ({ cause }) => cause !== "Lost" } },
    running,
    [gone("a")],
    { phase: "Failed", reason: "ChildDeleted" },
  ],
  [
    "Running past its timeout",
    { timeout: now - 1 },
    running,
    [],
    { phase: "Cancelling", reason: "Timeout", cancelledAt: now },
  ],
  ["Running a moment before its timeout", { timeout: now }, running, [], running],
  [
    "Starting past its pending timeout",
    { pendingTimeout: 10 },
    starting,
    [],
    { phase: "Cancelling", reason: "PendingTimeout" },
  ],
  ["Running has no pending timeout", { pendingTimeout: 10 }, running, [], running],
  [
    "the timeout of a later attempt counts from that attempt",
    { timeout: 5_000 },
    { ...running, attempt: 2, attemptAt: 6_000 },
    [],
    { phase: "Running" },
  ],
  [
    "Running, step cancelled",
    {},
    running,
    [act("cancel")],
    { phase: "Cancelling", reason: "StepCanceled", message: "canceled by anna" },
  ],
  ["Starting, step cancelled", {}, starting, [act("cancel")], { phase: "Cancelling" }],
  [
    "Waiting, step cancelled",
    {},
    { phase: "Waiting", attempt: 0, reason: "Lock", readyAt: 1 },
    [act("cancel")],
    { phase: "Canceled" },
  ],
  [
    "Suspended, step cancelled",
    { kind: "approval" },
    suspended,
    [act("cancel")],
    { phase: "Canceled", reason: "StepCanceled" },
  ],
  ["an observed step has no child to wait for", { kind: "observe" }, running, [act("cancel")], { phase: "Canceled" }],
  [
    "an observed step past its timeout",
    { kind: "observe", timeout: 5 },
    running,
    [],
    { phase: "Failed", reason: "Timeout" },
  ],
  ["Cancelling, child succeeded: the work is done", {}, cancelling, [succeeded("a")], { phase: "Succeeded" }],
  ["Cancelling, child failed", {}, cancelling, [failed("a")], { phase: "Canceled", reason: "StepCanceled" }],
  ["Cancelling, child gone", {}, cancelling, [gone("a")], { phase: "Canceled", reason: "StepCanceled" }],
  ["Cancelling, child alive", {}, cancelling, [alive("a")], cancelling],
  ["Cancelling longer than the cancel may take", { cancelTimeout: 100 }, cancelling, [], { phase: "Canceled" }],
  [
    "Cancelling after a timeout, child gone",
    {},
    timedOut,
    [gone("a")],
    { phase: "Failed", reason: "Timeout", message: "too slow" },
  ],
  ["Cancelling after a timeout, retries left", twice, timedOut, [gone("a")], { phase: "Waiting", reason: "Backoff" }],
  [
    "Cancelling after a timeout, nobody answers",
    { cancelTimeout: 100, ...twice },
    timedOut,
    [],
    { phase: "Waiting", reason: "Backoff", message: "attempt 1: Timeout: too slow" },
  ],
  [
    "Suspended, approved",
    { kind: "approval" },
    suspended,
    [act("approve")],
    { phase: "Succeeded", message: "approved by anna" },
  ],
  ["Suspended, resumed", { kind: "approval" }, suspended, [act("resume")], { phase: "Succeeded" }],
  [
    "Suspended, rejected",
    { kind: "approval" },
    suspended,
    [act("reject")],
    { phase: "Failed", reason: "Rejected", message: "rejected by anna" },
  ],
  [
    "Suspended, approved and rejected at once",
    { kind: "approval" },
    suspended,
    [act("approve"), act("reject")],
    { phase: "Failed" },
  ],
  ["Suspended, out of time", { kind: "approval", timeout: 10 }, suspended, [], { phase: "Failed", reason: "Rejected" }],
  [
    "Suspended, out of time, silence is consent",
    { kind: "approval", timeout: 10, onTimeout: "Approve" },
    suspended,
    [],
    { phase: "Succeeded" },
  ],
  [
    "Pending, skipped by a person",
    {},
    { phase: "Pending", attempt: 0 },
    [act("skip")],
    { phase: "Skipped", reason: "ConditionFalse" },
  ],
  ["Running cannot be skipped", {}, running, [act("skip")], running],
  ["Running needs no approval", {}, running, [act("approve")], running],
  [
    "the whole step out of time while it waits",
    { deadline: 10 },
    { phase: "Waiting", attempt: 0, reason: "Lock", readyAt: 1 },
    [],
    { phase: "Failed", reason: "StepDeadlineExceeded" },
  ],
  [
    "the whole step out of time while it runs",
    { deadline: 10, ...twice },
    running,
    [],
    { phase: "Cancelling", reason: "StepDeadlineExceeded" },
  ],
  [
    "a step out of time is not repeated",
    twice,
    { ...cancelling, reason: "StepDeadlineExceeded" },
    [gone("a")],
    { phase: "Failed", reason: "StepDeadlineExceeded" },
  ],
  [
    "the pause before a retry is over",
    {},
    { phase: "Waiting", attempt: 1, reason: "Backoff", notBefore: now, readyAt: 1, startedAt: 1 },
    [],
    { phase: "Starting", attempt: 2, startedAt: 1, attemptAt: now },
  ],
  [
    "the pause before a retry is not over",
    {},
    { phase: "Waiting", attempt: 1, reason: "Backoff", notBefore: now + 1, readyAt: 1 },
    [],
    { phase: "Waiting" },
  ],
  [
    "a grant does not shorten a pause",
    {},
    { phase: "Waiting", attempt: 1, reason: "Backoff", notBefore: now + 1, readyAt: 1 },
    [{ kind: "grant", step: "a", granted: true }],
    { phase: "Waiting", reason: "Backoff" },
  ],
];

test.each(table)("%s", (_name, step, from, facts, to) => {
  expect(after(step, from, facts)).toMatchObject(to);
});

test("a stronger fact about the same attempt wins, whatever the order", () => {
  const facts = [alive("a"), gone("a"), failed("a"), succeeded("a")];
  expect(after({}, running, facts)).toMatchObject({ phase: "Succeeded" });
  expect(after({}, running, facts.toReversed())).toMatchObject({ phase: "Succeeded" });
  expect(after({}, running, facts.slice(0, 3))).toMatchObject({ reason: "Error" });
  expect(after({}, running, facts.slice(0, 2))).toMatchObject({ reason: "ChildDeleted" });
});

test("outputs are recorded as they came, from a child and from an approval", () => {
  const outputs = { digest: "sha256:0", nested: { list: [1, 2] } };
  expect(after({}, running, [child("a", { is: "succeeded", outputs })])?.outputs).toBe(outputs);
  const approval: Fact = { kind: "action", action: "approve", step: "a", values: outputs };
  expect(after({ kind: "approval" }, suspended, [approval])?.outputs).toBe(outputs);
});

test("what belonged to a phase is not carried into the next", () => {
  const waiting: StepState = {
    phase: "Waiting",
    attempt: 1,
    reason: "Backoff",
    message: "attempt 1: Error",
    notBefore: 5,
    readyAt: 1,
    startedAt: 1,
  };
  expect(after({}, waiting, [])).toEqual({ phase: "Starting", attempt: 2, readyAt: 1, startedAt: 1, attemptAt: now });
  expect(after({}, timedOut, [succeeded("a")])).toEqual({
    phase: "Succeeded",
    attempt: 1,
    readyAt: 1,
    startedAt: 1,
    finishedAt: now,
  });
});

test("facts about unknown steps, other attempts and illegal moves are counted and change nothing", () => {
  const single = plan([{ id: "a" }, { id: "g", kind: "group", group: plan([{ id: "x" }]) }]);
  const before = advance(single, newRun, [], now).run;
  const facts: Fact[] = [
    succeeded("a", 2),
    succeeded("nobody"),
    succeeded("g"),
    { kind: "action", action: "approve", step: "a" },
    { kind: "action", action: "skip", step: "nobody" },
    { kind: "action", action: "approve" },
    { kind: "action", action: "suspend", step: "a" },
    { kind: "action", action: "retry" },
    { kind: "action", action: "cancel", number: 7 },
    { kind: "grant", step: "a", granted: true },
  ];
  const { run, ignored } = advance(single, before, facts, now);
  expect(run).toBe(before);
  expect(ignored).toBe(facts.length);
});

test("seeing a child again is nothing to count", () => {
  const single = plan([{ id: "a" }, { id: "b" }]);
  let { run } = advance(single, newRun, [], now);
  run = advance(single, run, [alive("a"), succeeded("b")], now).run;
  expect(advance(single, run, [alive("a"), succeeded("b")], now)).toMatchObject({ run, ignored: 0 });
});

test("a run whose only step waits for its next attempt goes on running", () => {
  const single = plan([planStep({ ...twice, id: "a" })]);
  const before: RunState = { ...newRun, phase: "Running", startedAt: 0, steps: { a: running } };
  const { run } = advance(single, before, [failed("a")], now);
  expect(run.steps["a"]).toMatchObject({ phase: "Waiting", reason: "Backoff" });
  expect(run.phase).toBe("Running");
});
