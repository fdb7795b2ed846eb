import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { refusalOf, viewRun } from "./view.ts";

const start = "2030-01-01T00:00:00Z";
const at = Date.parse(start);

const application = (spec: JsonObject, status: JsonObject = {}): KubeObject & JsonObject => ({
  apiVersion: "core.oam.dev/v1beta1",
  kind: "Application",
  metadata: { name: "shop", namespace: "a", uid: "u", creationTimestamp: start },
  spec,
  status,
});

const components = [
  { name: "db", type: "worker" },
  { name: "web", type: "webservice", dependsOn: ["db"] },
];
const steps = [
  { name: "one", type: "apply-component" },
  {
    name: "both",
    type: "step-group",
    subSteps: [
      { name: "a", type: "suspend" },
      { name: "b", type: "suspend", dependsOn: ["a"] },
    ],
  },
];

test("generated steps depend on each other like their components", () => {
  const { steps: views, phase } = viewRun(application({ components }));
  expect(phase).toBe("Pending");
  expect(views.map(({ id, dependencies, waitingFor, rank }) => [id, dependencies, waitingFor, rank])).toEqual([
    ["db", [], [], 0],
    ["web", ["db"], ["db"], 1],
  ]);
});

test("steps of a StepByStep workflow follow each other, those of a group its dependencies", () => {
  const { steps: views } = viewRun(application({ components, workflow: { steps } }));
  expect(views.map(({ id, dependencies, group }) => [id, dependencies, group])).toEqual([
    ["one", [], undefined],
    ["both", ["one"], undefined],
    ["both/a", [], "both"],
    ["both/b", ["both/a"], "both"],
  ]);
});

test("phases, tries and questions of steps are shown in the words of the engine", () => {
  const status = {
    status: "workflowSuspending",
    workflow: {
      status: "suspending",
      startTime: start,
      suspend: true,
      steps: [
        { name: "one", phase: "failed", reason: "Execute", message: "no", attempts: 3, nextTime: start },
        { name: "both", phase: "suspending", subSteps: [{ name: "a", phase: "suspending", reason: "Suspend" }] },
      ],
    },
  };
  const view = viewRun(application({ components, workflow: { steps } }, status));
  expect(view).toMatchObject({ phase: "Suspended", nativePhase: "workflowSuspending", startedAt: at });
  expect(view.actions).toEqual(["cancel", "suspend"]);
  const held = { ...status, workflow: { ...status.workflow, suspendState: "Requested" } };
  expect(viewRun(application({ components, workflow: { steps } }, held)).actions).toEqual(["cancel", "resume"]);
  const [one, both, a, b] = view.steps;
  expect(one).toMatchObject({ phase: "Waiting", reason: "Backoff", message: "no", attempt: 3, notBefore: at });
  expect([both?.phase, b?.phase]).toEqual(["Suspended", "Pending"]);
  expect(a).toMatchObject({ phase: "Suspended", actions: ["approve", "reject"] });
});

test("a group ends with its last step, and steps of a Workflow that it refers to are known by the status", () => {
  const end = "2030-01-01T00:00:09Z";
  const group = { name: "g", type: "step-group", phase: "succeeded", firstExecuteTime: start, lastExecuteTime: start };
  const status = {
    status: "running",
    workflow: { steps: [{ ...group, subSteps: [{ name: "s", phase: "succeeded", lastExecuteTime: end }] }] },
  };
  const { steps: views } = viewRun(application({ components: [], workflow: { ref: "w" } }, status));
  expect(views.map(({ id }) => id)).toEqual(["g", "g/s"]);
  expect(views[0]).toMatchObject({ phase: "Succeeded", finishedAt: Date.parse(end) });
});

test("an application that cannot be read says why it does not start", () => {
  const conditions = [{ type: "Parsed", status: "False", reason: "ReconcileError", message: "no such type" }];
  const object = application({ components }, { status: "rendering", conditions });
  expect(refusalOf(object)).toBe("no such type");
  expect(viewRun(object)).toMatchObject({ phase: "Running", message: "no such type" });
  expect(refusalOf(application({ components }))).toBeUndefined();
});
