import { expect, test } from "vitest";
import { applicationNotices, workflowNotices } from "./notices.ts";

const start = "2030-01-01T00:00:00Z";
const running = { status: "executing", startTime: start, suspend: false, terminated: false, finished: false };
const lines = (found: ReturnType<typeof workflowNotices>) => found.map(({ reason, note }) => `${reason}: ${note}`);

test("17.25 each transition of a step is one event", () => {
  const first = { ...running, steps: [{ name: "a", phase: "running", reason: "Wait", firstExecuteTime: start }] };
  expect(lines(workflowNotices(undefined, first))).toEqual([
    "WorkflowStarted: the workflow has started",
    'StepStarted: step "a" has started',
  ]);
  const waiting = { ...first, steps: [{ ...first.steps[0], message: "wait healthy" }] };
  expect(workflowNotices(first, waiting)).toEqual([]);
  const done = {
    ...first,
    steps: [
      { ...first.steps[0], phase: "succeeded", reason: "" },
      { name: "b", phase: "skipped", reason: "Skip", message: "no" },
    ],
  };
  expect(lines(workflowNotices(waiting, done))).toEqual([
    'StepSucceeded: step "a" succeeded',
    'StepSkipped: step "b" was skipped: no',
  ]);
  expect(workflowNotices(done, done)).toEqual([]);
});

test("17.25 a retried step is told once for each message", () => {
  const failed = (message: string) => ({
    ...running,
    steps: [{ name: "a", phase: "failed", reason: "Execute", message }],
  });
  expect(lines(workflowNotices(running, failed("x")))).toEqual(['StepRetrying: step "a" failed and is retried: x']);
  expect(workflowNotices(failed("x"), failed("x"))).toEqual([]);
  expect(workflowNotices(failed("x"), failed("y"))).toHaveLength(1);
});

test("17.25 a suspension is one event, whoever suspends", () => {
  const first = { ...running, steps: [{ name: "a", phase: "running", reason: "Wait", firstExecuteTime: start }] };
  const steps = [{ ...first.steps[0], phase: "suspending", reason: "Suspend" }];
  const suspended = { ...first, status: "suspending", suspend: true, steps };
  expect(lines(workflowNotices(first, { ...suspended, suspendState: "Requested" }))).toEqual([
    "WorkflowSuspended: the workflow is suspended",
  ]);
  expect(lines(workflowNotices(first, suspended))).toEqual(['StepSuspended: step "a" is suspended']);
});

test("17.25 the end, a suspension and a restart of a workflow are events", () => {
  const held = { ...running, suspend: true };
  expect(lines(workflowNotices(running, held))).toEqual(["WorkflowSuspended: the workflow is suspended"]);
  expect(lines(workflowNotices(held, running))).toEqual(["WorkflowResumed: the workflow was resumed"]);
  const ended = { ...running, status: "failed", message: "why", finished: true, endTime: "2030-01-01T00:00:05Z" };
  expect(lines(workflowNotices(running, ended))).toEqual(["WorkflowFailed: failed after 5s: why"]);
  expect(workflowNotices(ended, ended)).toEqual([]);
  expect(lines(workflowNotices(ended, { ...running, startTime: "2030-01-01T00:01:00Z" }))).toEqual([
    "WorkflowRestarted: the workflow starts from its first step",
  ]);
});

test("17.25 conditions and phases of an application are events", () => {
  const parsed = { type: "Parsed", status: "False", reason: "ReconcileError", message: "no such type" };
  expect(lines(applicationNotices(undefined, { status: "rendering", conditions: [parsed] }))).toEqual([
    "FailedParse: no such type",
  ]);
  const good = { status: "running", conditions: [{ type: "Parsed", status: "True", reason: "Available" }] };
  expect(lines(applicationNotices({ status: "rendering", conditions: [parsed] }, good))).toEqual([
    "Parsed: the application was parsed",
    "Deployed: the application is running and healthy",
  ]);
  expect(applicationNotices(good, good)).toEqual([]);
  const sick = { ...good, status: "unhealthy", services: [{ name: "web", healthy: false, message: "Ready:0/1" }] };
  expect(lines(applicationNotices(good, sick))).toEqual(["Unhealthy: not healthy: web: Ready:0/1"]);
});

test("18 a step that has waited for 10 minutes is told once", () => {
  const at = (time: string) => ({
    ...running,
    steps: [
      {
        name: "a",
        phase: "running",
        reason: "Wait",
        message: "not ready",
        firstExecuteTime: start,
        lastExecuteTime: time,
      },
    ],
  });
  const [early, late, later] = [at("2030-01-01T00:09:59Z"), at("2030-01-01T00:10:00Z"), at("2030-01-01T00:11:00Z")];
  expect(lines(workflowNotices(early, late))).toEqual([
    'StepWaitsLong: step "a" has been waiting for more than 10 minutes: not ready',
  ]);
  expect(workflowNotices(late, later)).toEqual([]);
});
