import { expect, test } from "vitest";
import { judgeEvent } from "./events.ts";
import type { WorkflowState } from "./state.ts";
import { type AnyWorkflow, statusOf } from "./stored.ts";
import { action, begin, pending, settings } from "./testing/states.ts";
import { cancel, dispatch, reject } from "./transitions.ts";
import { viewWorkflow } from "./view.ts";

const document: AnyWorkflow = {
  apiVersion: "tinkerbell.org/v1alpha1",
  kind: "Workflow",
  metadata: { name: "w", namespace: "default", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { templateRef: "t" },
};
const view = (state: WorkflowState, metadata = {}) =>
  viewWorkflow({
    ...document,
    metadata: { ...document.metadata, ...metadata },
    status: statusOf(document, state, begin),
  });
const taker = { agentID: "agent-a", protocol: "stream" } as const;
const context = { now: begin + 1000, settings, protocol: "stream", hasPostSteps: false, seed: "u" } as const;
const scheduled = dispatch(pending({ timeout: 60_000 }), taker, begin, settings).state;
const tell = (state: WorkflowState, is: "started" | "succeeded", name: string) =>
  judgeEvent(state, { is, action: `id-${name}` }, context).state ?? state;
const running = tell(scheduled, "started", "one");
const phases = (state: WorkflowState) => view(state).steps.map(({ phase }) => phase);

test("actions are steps, each after the one before", () => {
  const { steps, ...run } = view(tell(running, "succeeded", "one"));
  expect(run).toMatchObject({
    ref: { kind: "Workflow", name: "w", namespace: "default", uid: "u" },
    dialect: "tinkerbell",
    phase: "Running",
    nativePhase: "RUNNING",
    startedAt: begin + 1000,
    deadlineAt: begin + 61_000,
    progress: { done: 1, total: 2 },
    actions: ["cancel"],
  });
  expect(steps).toMatchObject([
    { id: "one", name: "one", group: "on agent-a", phase: "Succeeded", dependencies: [], rank: 0, attempt: 1 },
    { id: "two", name: "two", phase: "Waiting", dependencies: ["one"], waitingFor: [], rank: 1, attempt: 0 },
  ]);
});

test("what is not carried out says so", () => {
  const message = "workflows with spec.tasks are stored, and this version does not run them";
  const conditions = [{ type: "Unsupported", status: "True", reason: "TaskBased", message }];
  const draft: AnyWorkflow = {
    ...document,
    apiVersion: "tinkerbell.org/v1alpha2",
    spec: { tasks: [{ agentID: "a" }] },
    status: { shape: "C", conditions },
  };
  expect(viewWorkflow(draft)).toMatchObject({ message });
});

test("what waits for its agent is pending, and says in its own words how far it is", () => {
  expect(view(scheduled)).toMatchObject({ phase: "Pending", nativePhase: "PENDING" });
  expect(phases(scheduled)).toEqual(["Waiting", "Pending"]);
});

test("the next action of a workflow that waits tells for whom", () => {
  const [first, second] = view(pending()).steps;
  expect(first).toMatchObject({
    phase: "Waiting",
    reason: "Agent",
    message: "agent agent-a has not taken the workflow",
  });
  expect(second).not.toHaveProperty("reason");
  expect(view(scheduled).steps[0]).toMatchObject({
    reason: "Agent",
    message: "agent agent-a has not started it",
  });
  const refused = reject(scheduled, { message: "busy" }, begin, settings, "seed").state;
  expect(view(refused).steps[0]).toMatchObject({
    message: "agent agent-a rejected it: busy",
    notBefore: refused.dispatch.notBefore,
  });
});

test("what is not done any more after a failure is skipped, after a cancel canceled", () => {
  const failed = judgeEvent(
    running,
    { is: "failed", action: "id-one", reason: "NonZeroExit", message: "exit code 1" },
    context,
  ).state;
  expect(phases(failed ?? running)).toEqual(["Failed", "Skipped"]);
  expect(view(failed ?? running)).toMatchObject({
    phase: "Failed",
    reason: "NonZeroExit",
    message: 'action "one" failed: exit code 1',
    actions: ["retry"],
  });
  expect(phases(cancel(pending(), "canceled by User").state)).toEqual(["Canceled", "Canceled"]);
});

test("while it is cancelled the action that runs is, too, and nothing can be asked of it", () => {
  const state: WorkflowState = { ...running, phase: "Cancelling" };
  expect(phases(state)[0]).toBe("Cancelling");
  expect(view(state).actions).toEqual([]);
  expect(view(running, { deletionTimestamp: "2026-01-01T00:00:01Z" }).actions).toEqual([]);
});

test("a workflow that was never prepared has no steps, and says why", () => {
  const conditions = [
    { type: "TemplateRenderedSuccess", status: "False", reason: "Error", message: "template not found" },
  ];
  expect(viewWorkflow({ ...document, status: { conditions } })).toMatchObject({
    phase: "Pending",
    nativePhase: "",
    reason: "Error",
    message: "template not found",
    steps: [],
    progress: { done: 0, total: 0 },
  });
});

test("a document of the other version is seen alike", () => {
  const other: AnyWorkflow = { ...document, spec: { templateRef: { name: "t" }, timeout: 60 } };
  const state = { ...running, shape: "B" as const, actions: [action("one", { phase: "Running", attempts: 1 })] };
  expect(viewWorkflow({ ...other, status: statusOf(other, state, begin) })).toMatchObject({
    phase: "Running",
    nativePhase: "Running",
    steps: [{ name: "one", phase: "Running" }],
  });
});
