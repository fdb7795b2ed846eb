import { expect, test } from "vitest";
import { newRun, type RunState, type StepState } from "#engine/index.ts";
import { notices, noticesBetween } from "./messages.ts";

const at = Date.UTC(2026, 0, 1);
const running: RunState = { ...newRun, phase: "Running", startedAt: at };
const withStep = (step: StepState | undefined, more: Partial<RunState> = {}): RunState => ({
  ...running,
  steps: step === undefined ? {} : { a: step },
  ...more,
});
const told = (before: RunState, after: RunState) =>
  noticesBetween(before, after).map(({ type, reason, note }) => `${type} ${reason}: ${note}`);

const starting: StepState = { phase: "Starting", attempt: 1, startedAt: at };

test.each<[string, StepState | undefined, StepState, readonly string[]]>([
  ["a start", undefined, starting, ['Normal StepStarted: step "a" starts attempt 1']],
  ["coming alive", starting, { ...starting, phase: "Running" }, []],
  [
    "success",
    starting,
    { ...starting, phase: "Succeeded", finishedAt: at },
    ['Normal StepSucceeded: step "a" succeeded'],
  ],
  [
    "failure",
    starting,
    { ...starting, phase: "Failed", reason: "Error", message: "exit code 1", finishedAt: at },
    ['Warning StepFailed: step "a" failed: Error: exit code 1'],
  ],
  [
    "another try",
    starting,
    { ...starting, phase: "Waiting", reason: "Backoff", message: "attempt 1: Error: exit code 1" },
    ['Warning StepRetrying: step "a" is tried again after attempt 1: Error: exit code 1'],
  ],
  [
    "a timeout",
    starting,
    { ...starting, phase: "Cancelling", reason: "Timeout", message: "no result within 5s" },
    ['Warning StepTimedOut: step "a" is ended: Timeout: no result within 5s'],
  ],
  ["a cancel on its way", starting, { ...starting, phase: "Cancelling", reason: "RunCanceled" }, []],
  [
    "a cancel",
    starting,
    { ...starting, phase: "Canceled", reason: "RunCanceled", finishedAt: at },
    ['Normal StepCanceled: step "a" was canceled: RunCanceled'],
  ],
  [
    "a skip",
    undefined,
    { phase: "Skipped", attempt: 0, reason: "ConditionFalse", finishedAt: at },
    ['Normal StepSkipped: step "a" was skipped: ConditionFalse'],
  ],
  [
    "waiting for quota",
    starting,
    { ...starting, phase: "Waiting", reason: "Quota", message: "exceeded quota: q", refused: true },
    ['Normal QuotaWaiting: step "a" waits for quota: exceeded quota: q'],
  ],
  [
    "a start that was refused and is tried again",
    { ...starting, phase: "Waiting", reason: "Quota", message: "exceeded quota: q", refused: true },
    starting,
    [],
  ],
  ["waiting for a slot", undefined, { phase: "Waiting", attempt: 0, reason: "Ready" }, []],
])("of a step people are told: %s", (_what, before, after, expected) => {
  expect(told(withStep(before), withStep(after))).toEqual(expected);
});

test("the beginning of a run is told once, before its steps", () => {
  expect(told(newRun, withStep(starting))).toEqual([
    "Normal WorkflowStarted: the workflow has started",
    'Normal StepStarted: step "a" starts attempt 1',
  ]);
});

test("suspension and its end are told", () => {
  const suspended: RunState = { ...running, phase: "Suspended", suspendedSince: at };
  expect(told(running, suspended)).toEqual(["Normal WorkflowSuspended: no new steps start; running children continue"]);
  expect(told(suspended, running)).toEqual(["Normal WorkflowResumed: the workflow was resumed"]);
});

test("a deadline is told when it strikes", () => {
  const closing: RunState = { ...running, phase: "Cancelling", closing: "Deadline" };
  expect(told(running, closing)).toEqual([
    "Warning DeadlineExceeded: the workflow took longer than activeDeadlineSeconds; active steps are being canceled",
  ]);
});

test("the end is told last, with outcome, duration and the steps that failed", () => {
  const failed: StepState = { ...starting, phase: "Failed", reason: "Error", finishedAt: at + 61_000 };
  const ended = withStep(failed, { phase: "Failed", reason: "StepFailed", finishedAt: at + 61_000 });
  expect(told(withStep(starting), ended)).toEqual([
    'Warning StepFailed: step "a" failed: Error',
    "Warning WorkflowEnded: Failed (StepFailed) after 61s; failed: a",
  ]);
  const succeeded = withStep(
    { ...starting, phase: "Succeeded", finishedAt: at + 500 },
    { phase: "Succeeded", finishedAt: at + 500 },
  );
  expect(told(withStep(starting), succeeded).at(-1)).toBe("Normal WorkflowEnded: Succeeded after 0s");
});

test("of many failed steps the first ten are named", () => {
  const failed: StepState = { ...starting, phase: "Failed", finishedAt: at };
  const steps = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`s${n}`, failed]));
  const ended: RunState = { ...running, steps, phase: "Failed", finishedAt: at };
  expect(told({ ...running, steps }, ended).at(-1)).toMatch(/failed: s0, .*s9, …$/);
});

test("a retry is told as one", () => {
  const ended: RunState = { ...running, phase: "Failed", finishedAt: at };
  const again: RunState = { ...newRun, phase: "Running", number: 2, startedAt: at + 1 };
  expect(told(ended, again)).toEqual([
    "Normal WorkflowRetried: run 2 re-runs the steps that did not succeed",
    "Normal WorkflowStarted: run 2 has started",
  ]);
});

test("nothing is told of nothing", () => {
  expect(told(running, running)).toEqual([]);
});

test("what is told beyond the run names the object it is about", () => {
  expect(notices.stray("Job", "j").note).toContain('Job "j"');
  expect(notices.cleanupFailed("Job/j").note).toContain('slipway.dev/abandon to "true"');
  expect(notices.invalid("spec: x")).toMatchObject({ type: "Warning", reason: "InvalidSpec", note: "spec: x" });
});
