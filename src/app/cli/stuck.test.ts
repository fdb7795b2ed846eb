import { expect, test } from "vitest";
import type { HoldUp, RunView, StepView } from "#engine/index.ts";
import { obstacleText } from "./stuck.ts";

const lacks: HoldUp = { reason: "CreateContainerConfigError", message: 'secret "s" not found', needsHelp: true };
const pulls: HoldUp = { reason: "ImagePullBackOff", message: "no", needsHelp: false };
const step = (name: string, phase: StepView["phase"], holdUp?: HoldUp): StepView => ({
  id: name,
  name,
  phase,
  dependencies: [],
  waitingFor: [],
  rank: 0,
  attempt: 1,
  logs: [],
  artifacts: [],
  actions: [],
  ...(holdUp === undefined ? {} : { holdUp }),
});
const run = (...steps: readonly StepView[]): RunView => ({
  ref: { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "w" },
  dialect: "workflow",
  name: "w",
  phase: "Running",
  nativePhase: "Running",
  createdAt: 0,
  progress: { done: 0, total: steps.length },
  steps,
  children: [],
  actions: [],
});

test("a run is stuck when everything that has begun lacks what nobody can bring", () => {
  const stuck = run(step("a", "Succeeded"), step("b", "Running", lacks), step("c", "Pending"));
  expect(obstacleText(stuck)).toMatch(/this run cannot continue: b \(secret "s" not found\)\n/);
});

test.each([
  [step("other", "Running")],
  [step("other", "Waiting")],
  [step("other", "Suspended")],
  [step("other", "Running", pulls)],
])("a run is not stuck while something else may move: %#", (other) => {
  expect(obstacleText(run(step("a", "Running", lacks), other))).toBeUndefined();
});

test("a run of which nothing has begun is not stuck", () => {
  expect(obstacleText(run(step("a", "Pending")))).toBeUndefined();
});

test("a run in which only a question is left is told to wait in vain", () => {
  const asked = run(step("a", "Succeeded"), step("ask", "Suspended"), step("b", "Pending"));
  expect(obstacleText({ ...asked, phase: "Suspended" })).toContain("no user can answer ask: ");
  expect(obstacleText(asked)).toBeUndefined();
});
