import { expect, test } from "vitest";
import { newRun, type RunState, type StepState } from "#engine/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { compileWorkflow } from "../compile/compile.ts";
import type { Workflow, WorkflowSpec, WorkflowStatus } from "../kinds.ts";
import { statusAfter, withOutputs } from "./summary.ts";

const at = Date.UTC(2026, 0, 1);
const spec: WorkflowSpec = {
  steps: {
    a: { container: { image: "i" }, outputs: { x: {} } },
    b: { container: { image: "i" }, onFailure: "Continue" },
  },
};

function state(run: RunState, status?: WorkflowStatus, more: WorkflowSpec = {}) {
  const workflow: Stored<Workflow> = {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: {
      name: "wf",
      namespace: "default",
      uid: "u",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      generation: 3,
    },
    spec: { ...spec, ...more },
    ...(status === undefined ? {} : { status }),
  };
  const compiled = compileWorkflow(workflow);
  if (compiled === undefined) throw new Error("the test's workflow is wrong");
  return { workflow, compiled, run, now: at };
}
const noFacts = { references: new Map(), conflicts: [] };
const step = (phase: StepState["phase"], more: Partial<StepState> = {}): StepState => ({ phase, attempt: 1, ...more });
const running: RunState = { ...newRun, phase: "Running", startedAt: at };
const conditions = (status: WorkflowStatus) =>
  status.conditions?.map(({ type, status: is, reason }) => [type, is, reason]);

test("the first status says that nothing has ended, for which generation, and how far the run is", () => {
  const status = statusAfter(state(running), newRun, noFacts);
  expect(status).toMatchObject({ phase: "Running", runNumber: 1, progress: "0/2", observedGeneration: 3 });
  expect(conditions(status)).toEqual([
    ["Complete", "False", undefined],
    ["Failed", "False", undefined],
  ]);
});

test.each<[RunState["phase"], string | undefined, string, string]>([
  ["Succeeded", undefined, "Complete", "Succeeded"],
  ["Failed", "StepFailed", "Failed", "StepFailed"],
  ["Failed", "DeadlineExceeded", "Failed", "DeadlineExceeded"],
  ["Canceled", "Canceled", "Failed", "Canceled"],
])("a run that ended %s (%s) has the condition %s", (phase, why, type, reason) => {
  const ended: RunState = { ...running, phase, finishedAt: at, ...(why === undefined ? {} : { reason: why }) };
  const status = statusAfter(state(ended), running, noFacts);
  expect(status.conditions?.find((one) => one.status === "True")).toMatchObject({
    type,
    reason,
    lastProbeTime: "2026-01-01T00:00:00Z",
  });
});

test("a retry turns the conditions back, says why, and keeps the earlier run in the history", () => {
  const ended: RunState = { ...running, phase: "Failed", reason: "StepFailed", finishedAt: at };
  const before = statusAfter(state(ended), running, noFacts);
  const again: RunState = { ...newRun, phase: "Running", number: 2, startedAt: at + 1 };
  const status = statusAfter(state(again, before), ended, noFacts);
  expect(conditions(status)).toEqual([
    ["Complete", "False", undefined],
    ["Failed", "False", "Retried"],
  ]);
  expect(status.history).toMatchObject([{ runNumber: 1, phase: "Failed", reason: "StepFailed" }]);
});

test("the history keeps the last ten runs", () => {
  const history = Array.from({ length: 10 }, (_, n) => ({ runNumber: n + 1, phase: "Failed" }));
  const again: RunState = { ...running, number: 12 };
  const status = statusAfter(
    state(again, { phase: "Failed", runNumber: 11, history }),
    { ...running, number: 11 },
    noFacts,
  );
  expect(status.history?.map(({ runNumber }) => runNumber)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});

test("conditions are the same list while nothing they speak of changes", () => {
  const before = statusAfter(state(running), newRun, noFacts);
  const later: RunState = { ...running, steps: { a: step("Starting") } };
  expect(statusAfter(state(later, before), running, noFacts).conditions).toBe(before.conditions);
});

test("a step is complete when it is ok for its dependants", () => {
  const steps = { a: step("Failed", { finishedAt: at }), b: step("Failed", { finishedAt: at }) };
  const { statuses } = statusAfter(state({ ...running, steps }), running, noFacts);
  expect([statuses?.["a"]?.complete, statuses?.["b"]?.complete]).toEqual([false, true]);
});

test("a step that starts is stored with the name of its child and the hash of its definition", () => {
  const reference = { apiVersion: "batch/v1", kind: "Job", name: "wf-a-1" };
  const starting: RunState = { ...running, steps: { a: step("Starting") } };
  const { statuses } = statusAfter(state(starting), running, { ...noFacts, references: new Map([["a", reference]]) });
  expect(statuses?.["a"]).toMatchObject({ reference, templateHash: expect.stringMatching(/^[a-z2-7]{16}$/) });
});

test("failed attempts are kept, the last three of them", () => {
  const failures = [1, 2, 3].map((attempt) => ({ attempt, reason: "Error" }));
  const before: RunState = { ...running, steps: { a: step("Running", { attempt: 4 }) } };
  const status: WorkflowStatus = { statuses: { a: { phase: "Running", attempt: 4, failures } } };
  const after = {
    a: step("Waiting", { attempt: 4, reason: "Backoff", message: "attempt 4: Timeout: no result within 5s" }),
  };
  const { statuses } = statusAfter(state({ ...running, steps: after }, status), before, noFacts);
  expect(statuses?.["a"]?.failures).toEqual([
    ...failures.slice(1),
    { attempt: 4, reason: "Timeout", message: "no result within 5s", finishTime: "2026-01-01T00:00:00Z" },
  ]);
});

test("changed steps make the workflow say so, until they are put back", () => {
  const conflict = statusAfter(state(running), newRun, { ...noFacts, conflicts: ["a"] });
  expect(conflict.conditions?.find(({ type }) => type === "Invalid")).toMatchObject({
    status: "True",
    reason: "SpecConflict",
    message: expect.stringContaining("changed: a"),
  });
  const { observedGeneration: _other, ...older } = conflict;
  const mended = statusAfter(state(running, older), running, noFacts);
  expect(mended.conditions?.find(({ type }) => type === "Invalid")).toMatchObject({ status: "False" });
});

const outputs = (a: StepState, expressions: Readonly<Record<string, string>>) =>
  withOutputs(
    state({ ...running, phase: "Succeeded", finishedAt: at, steps: { a } }, undefined, { outputs: expressions }),
  );

test("a run that succeeded has its outputs", () => {
  const a = step("Succeeded", { outputs: { x: 20 } });
  expect(outputs(a, { sum: "steps.a.outputs.x + 1", run: "workflow.runNumber" }).outputs).toEqual({ sum: 21, run: 1 });
});

test("outputs that cannot be made fail the run: it does not do what it promised", () => {
  expect(outputs(step("Succeeded", { outputs: {} }), { sum: "steps.a.outputs.x + 1" }).run).toMatchObject({
    phase: "Failed",
    reason: "ExpressionError",
    message: expect.stringMatching(/^output "sum": /),
  });
});

test("outputs that are too large fail the run", () => {
  const a = step("Succeeded", { outputs: { x: "y".repeat(300_000) } });
  expect(outputs(a, { all: "steps.a.outputs.x" }).run).toMatchObject({ phase: "Failed", reason: "OutputTooLarge" });
});

test("a run that did not succeed has no outputs", () => {
  const failed: RunState = { ...running, phase: "Failed" };
  expect(withOutputs(state(failed, undefined, { outputs: { x: "1" } }))).toEqual({ run: failed });
});
