import { expect, test } from "vitest";
import { newRun, type RunState, type StepState } from "#engine/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { compileWorkflow } from "../compile/compile.ts";
import type { CompiledWorkflow } from "../compile/compiled.ts";
import type { Workflow, WorkflowStep } from "../kinds.ts";
import type { RunAction } from "#kernel/dialect/index.ts";
import { decide } from "./actions.ts";

const meta = (name: string, second = 0) => ({
  name,
  namespace: "default",
  uid: `uid-${name}`,
  resourceVersion: "1",
  creationTimestamp: `2026-01-01T00:00:0${second}Z`,
});
const box = (...dependencies: readonly string[]): WorkflowStep => ({ container: { image: "i" }, dependencies });
const workflow: Stored<Workflow> = {
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: meta("wf"),
  spec: { steps: { a: box(), b: box("a") }, finally: { last: box() } },
};
const compiled = ((): CompiledWorkflow => {
  const found = compileWorkflow(workflow);
  if (found === undefined) throw new Error("the test's workflow is wrong");
  return found;
})();

type Spec = Partial<RunAction["spec"]> & Pick<RunAction["spec"], "action">;
const action = (spec: Spec, more: Pick<RunAction, "status"> = {}, second = 0): Stored<RunAction> => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "RunAction",
  metadata: meta(`act-${spec.action}`, second),
  spec: { target: { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "wf" }, ...spec },
  ...more,
});

const done: StepState = { phase: "Succeeded", attempt: 1, finishedAt: 1 };
const running: RunState = { ...newRun, phase: "Running", startedAt: 1, steps: { a: { phase: "Running", attempt: 1 } } };
const failed: RunState = {
  ...running,
  phase: "Failed",
  steps: { a: { phase: "Failed", attempt: 1, finishedAt: 1 } },
  finishedAt: 2,
};
const succeeded: RunState = { ...running, phase: "Succeeded", steps: { a: done, b: done, last: done }, finishedAt: 2 };
const decision = (spec: Spec, run: RunState, more: Pick<RunAction, "status"> = {}) =>
  decide(action(spec, more), workflow, compiled, run);

test("who asks is told with what is done", () => {
  const by = { status: { by: "anna" } };
  expect(decision({ action: "cancel" }, running, by)).toMatchObject({ fact: { by: "anna" } });
  const accepted = { status: { by: "anna", phase: "Accepted" as const, runNumber: 1 } };
  expect(decision({ action: "retry" }, failed, accepted)).toMatchObject({ fact: { by: "anna" } });
});

test.each<[Spec, object]>([
  [
    { action: "cancel", force: true, reason: "r" },
    { action: "cancel", force: true, reason: "r" },
  ],
  [
    { action: "cancel", step: "a" },
    { action: "cancel", step: "a" },
  ],
  [{ action: "suspend" }, { action: "suspend" }],
  [{ action: "resume" }, { action: "resume" }],
  [
    { action: "skip", step: "b" },
    { action: "skip", step: "b" },
  ],
])("on a running workflow %j is carried out", (spec, fact) => {
  expect(decision(spec, running)).toEqual({ is: "apply", fact: { kind: "action", ...fact } });
});

test.each<[Spec, RunState, string]>([
  [{ action: "cancel", step: "last1" }, running, 'there is no step "last1", did you mean "last"'],
  [
    { action: "skip", step: "a" },
    running,
    'step "a" is Running; only a step that has not started can be skipped, but it can be canceled',
  ],
  [{ action: "cancel", step: "a" }, { ...running, steps: { a: done } }, 'step "a" is Succeeded already'],
  [
    { action: "suspend" },
    { ...running, closing: "Cancel" },
    "the workflow is being ended; suspend is not possible any more",
  ],
  [{ action: "cancel" }, succeeded, "the workflow is Succeeded; only retry is possible"],
  [{ action: "retry" }, running, "the workflow is Running; only a finished one can be retried"],
  [{ action: "retry" }, succeeded, "no step failed; choose the steps to re-run with --step"],
  [{ action: "retry", steps: ["ghost"] }, succeeded, 'there is no step "ghost"'],
  [{ action: "approve", step: "a" }, running, 'step "a" is not an approval'],
  [{ action: "resume", step: "a" }, running, 'step "a" is not an approval'],
  [{ action: "reject" }, running, "reject needs the step to reject"],
])("%j is refused with the reason", (spec, run, message) => {
  expect(decision(spec, run)).toEqual({ is: "refused", message });
});

test("a retry is accepted with its run number before it is carried out, and carried out once", () => {
  expect(decision({ action: "retry" }, failed)).toEqual({ is: "accept" });
  const accepted = { status: { phase: "Accepted" as const, runNumber: 1 } };
  expect(decision({ action: "retry" }, failed, accepted)).toEqual({
    is: "apply",
    fact: { kind: "action", action: "retry", number: 1 },
  });
  const again: RunState = { ...failed, number: 2 };
  expect(decision({ action: "retry" }, again, accepted)).toEqual({ is: "done", message: "run 2 was started" });
});

test("a cancel whose effect was stored and whose answer was lost is answered as done", () => {
  const finishedAt = Date.parse(action({ action: "cancel" }).metadata.creationTimestamp) + 5_000;
  const canceled: RunState = { ...succeeded, phase: "Canceled", closing: "Cancel", finishedAt };
  expect(decision({ action: "cancel" }, canceled)).toEqual({ is: "done", message: "the workflow was canceled" });
});

test("a cancel that comes after the end of a canceled run is refused, as every other action is", () => {
  const { creationTimestamp } = action({ action: "cancel" }).metadata;
  const created = Date.parse(creationTimestamp);
  const canceled: RunState = { ...succeeded, phase: "Canceled", closing: "Cancel" };
  const endedAt = (finishedAt: number) => decision({ action: "cancel" }, { ...canceled, finishedAt });
  expect(endedAt(created - 1)).toEqual({ is: "refused", message: "the workflow is Canceled; only retry is possible" });
  expect(endedAt(created)).toMatchObject({ is: "done" });
  expect(endedAt(created + 60_000)).toMatchObject({ is: "done" });
});

test("a workflow of another uid, or one that is being deleted, is not acted on", () => {
  const target = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "wf", uid: "old" };
  expect(decision({ action: "cancel", target }, running)).toMatchObject({ is: "refused" });
  const leaving = { ...workflow, metadata: { ...workflow.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  expect(decide(action({ action: "cancel" }), leaving, compiled, running)).toEqual({
    is: "refused",
    message: "the workflow is being deleted",
  });
});
