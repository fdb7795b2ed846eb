import { expect, test } from "vitest";
import { jsonEquals, type JsonObject } from "#lib/base/index.ts";
import { ownStatusOfApplication, ownStatusOfRun } from "./status-edits.ts";

const stored: JsonObject = {
  status: "runningWorkflow",
  phase: "runningWorkflow",
  observedGeneration: 1,
  workflow: {
    suspend: false,
    terminated: false,
    stepIndex: 1,
    steps: [
      { id: "a", name: "done", phase: "succeeded" },
      { id: "b", name: "runs", phase: "running", reason: "Wait", subSteps: [{ name: "s", phase: "suspending" }] },
      { id: "c", name: "later", phase: "pending" },
    ],
  },
};

const workflow = stored["workflow"] as JsonObject;
const steps = workflow["steps"] as readonly JsonObject[];
const withStep = (index: number, change: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...stored,
  workflow: { ...workflow, ...more, steps: steps.map((step, at) => (at === index ? { ...step, ...change } : step)) },
});

/** Whether somebody other than a controller may make this of the stored status. */
const isCommand = (status: JsonObject): boolean =>
  jsonEquals(ownStatusOfApplication(status, stored), ownStatusOfApplication(stored, stored));

test.each<[string, JsonObject]>([
  ["nothing", stored],
  ["suspend", { ...stored, workflow: { ...workflow, suspend: true } }],
  ["suspend a step", withStep(1, { phase: "suspending", reason: "Suspend" }, { suspend: true })],
  ["resume a sub-step", withStep(1, { subSteps: [{ name: "s", phase: "running" }] })],
  ["terminate", { ...stored, workflow: { ...workflow, terminated: true } }],
  ["terminate with phases", withStep(1, { phase: "failed", reason: "Terminate" }, { terminated: true })],
  ["restart", { ...stored, workflow: {} }],
  ["restart by null", { ...stored, workflow: null }],
  ["restart with the phase", { ...stored, phase: "runningWorkflow", status: "running", workflow: {} }],
])("%s is a command", (_name, status) => {
  expect(isCommand(status)).toBe(true);
});

test.each<[string, JsonObject]>([
  ["another stepIndex", { ...stored, workflow: { ...workflow, stepIndex: 99 } }],
  ["a step that succeeded", withStep(1, { phase: "succeeded" })],
  ["a step that failed, without terminating", withStep(1, { phase: "failed", reason: "Terminate" })],
  ["a step that starts again", withStep(0, { phase: "running" })],
  ["a pending step that runs", withStep(2, { phase: "running" })],
  ["a decided gate", withStep(2, { gate: true })],
  ["fewer steps", { ...stored, workflow: { ...workflow, steps: [] } }],
  ["a condition", { ...stored, conditions: [{ type: "Workflow", status: "True" }] }],
  ["applied objects", { ...stored, appliedResources: [{ kind: "Secret", name: "x" }] }],
  ["other variables", { ...stored, workflow: { ...workflow, contextBackend: { name: "mine" } } }],
])("bad input: %s is no command", (_name, status) => {
  expect(isCommand(status)).toBe(false);
});

test("a run's status is the workflow's", () => {
  const own = (status: JsonObject) => ownStatusOfRun(status, workflow);
  expect(own({ ...workflow, suspend: true })).toEqual(own(workflow));
  expect(own({})).toEqual(own(workflow));
  expect(own({ ...workflow, finished: true })).not.toEqual(own(workflow));
});
