import { expect, test } from "vitest";
import type { KubeObject } from "#kernel/model/index.ts";
import { hasCompletionRule, readinessOf, stateOfObject } from "./completion.ts";

const object = (apiVersion: string, kind: string, status?: unknown, spec?: unknown, generation = 2): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: "o", generation },
  ...(spec === undefined ? {} : { spec }),
  ...(status === undefined ? {} : { status }),
});
const conditions = (...list: readonly (readonly [string, string])[]) => ({
  conditions: list.map(([type, status]) => ({ type, status })),
});

test.each<[string, string, unknown, "succeeded" | "failed" | "running"]>([
  ["batch/v1", "Job", conditions(["Complete", "True"]), "succeeded"],
  ["batch/v1", "Job", conditions(["Failed", "True"]), "failed"],
  ["batch/v1", "Job", conditions(["Complete", "False"]), "running"],
  ["batch/v1", "Job", { active: 1 }, "running"],
  ["v1", "Pod", { phase: "Succeeded" }, "succeeded"],
  ["v1", "Pod", { phase: "Failed" }, "failed"],
  ["v1", "Pod", { phase: "Running" }, "running"],
  ["slipway.dev/v1alpha1", "Workflow", conditions(["Complete", "True"]), "succeeded"],
  ["slipway.dev/v1alpha1", "Workflow", conditions(["Failed", "True"]), "failed"],
  ["tinkerbell.org/v1alpha1", "Workflow", conditions(["Succeeded", "True"]), "succeeded"],
  ["tinkerbell.org/v1alpha1", "Workflow", { state: "SUCCESS" }, "succeeded"],
  ["tinkerbell.org/v1alpha2", "Workflow", { state: "Succeeded" }, "succeeded"],
  ["tinkerbell.org/v1alpha1", "Workflow", conditions(["Succeeded", "False"]), "failed"],
  ["tinkerbell.org/v1alpha1", "Workflow", { state: "TIMEOUT" }, "failed"],
  ["tinkerbell.org/v1alpha1", "Workflow", { state: "Cancelled" }, "failed"],
  ["tinkerbell.org/v1alpha1", "Workflow", { state: "RUNNING" }, "running"],
  [
    "core.oam.dev/v1beta1",
    "Application",
    { status: "running", observedGeneration: 2, workflow: { finished: true } },
    "succeeded",
  ],
  [
    "core.oam.dev/v1beta1",
    "Application",
    { status: "running", observedGeneration: 1, workflow: { finished: true } },
    "running",
  ],
  ["core.oam.dev/v1beta1", "Application", { status: "runningWorkflow", observedGeneration: 2 }, "running"],
  ["core.oam.dev/v1beta1", "Application", { status: "workflowTerminated" }, "failed"],
  ["core.oam.dev/v1alpha1", "WorkflowRun", { status: "succeeded" }, "succeeded"],
  ["core.oam.dev/v1alpha1", "WorkflowRun", { status: "terminated" }, "failed"],
  ["wharf.slipway.dev/v1alpha1", "Build", conditions(["Complete", "True"]), "succeeded"],
  ["rebar.slipway.dev/v1alpha1", "MachineRun", conditions(["Failed", "True"]), "failed"],
  ["tekton.dev/v1", "PipelineRun", conditions(["Succeeded", "True"]), "succeeded"],
  ["tekton.dev/v1", "TaskRun", conditions(["Succeeded", "False"]), "failed"],
  ["tekton.dev/v1", "TaskRun", conditions(["Succeeded", "Unknown"]), "running"],
  ["argoproj.io/v1alpha1", "Workflow", { phase: "Error" }, "failed"],
  ["argoproj.io/v1alpha1", "Workflow", { phase: "Succeeded" }, "succeeded"],
  ["jobset.x-k8s.io/v1alpha2", "JobSet", conditions(["Completed", "True"]), "succeeded"],
  ["v1", "ConfigMap", undefined, "succeeded"],
  ["rbac.authorization.k8s.io/v1", "RoleBinding", undefined, "succeeded"],
  ["apiextensions.k8s.io/v1", "CustomResourceDefinition", undefined, "running"],
  ["apiextensions.k8s.io/v1", "CustomResourceDefinition", conditions(["Established", "True"]), "succeeded"],
  ["example.com/v1", "Thing", conditions(["Succeeded", "True"]), "succeeded"],
  ["example.com/v1", "Thing", conditions(["Succeeded", "False"]), "failed"],
  ["example.com/v1", "Thing", conditions(["Completed", "True"]), "succeeded"],
  ["example.com/v1", "Thing", conditions(["Complete", "True"], ["Failed", "True"]), "failed"],
  ["example.com/v1", "Thing", undefined, "running"],
])("%s %s with the status %j is %s", (apiVersion, kind, status, expected) => {
  expect(stateOfObject(object(apiVersion, kind, status)).is).toBe(expected);
});

test("the task protocol needs the reason, and a condition of this generation", () => {
  const progress = (reason: string, observedGeneration: number) => ({
    conditions: [{ type: "workflow-progress", status: "True", reason, observedGeneration }],
  });
  const states = [
    progress("Succeeded", 2),
    progress("Succeeded", 1),
    progress("Running", 2),
    progress("Failed", 2),
  ].map((status) => stateOfObject(object("example.com/v1", "Task", status)).is);
  expect(states).toEqual(["succeeded", "running", "running", "failed"]);
});

test("a condition about an older generation counts as absent", () => {
  const status = { conditions: [{ type: "Complete", status: "True", observedGeneration: 1 }] };
  expect(stateOfObject(object("example.com/v1", "Thing", status)).is).toBe("running");
});

test("a failure is told in the object's own words", () => {
  const status = {
    conditions: [{ type: "Failed", status: "True", reason: "BackoffLimitExceeded", message: "too often" }],
  };
  expect(stateOfObject(object("batch/v1", "Job", status))).toEqual({
    is: "failed",
    reason: "BackoffLimitExceeded",
    message: "too often",
  });
  expect(stateOfObject(object("v1", "Pod", { phase: "Failed" }))).toEqual({
    is: "failed",
    reason: "Failed",
    message: 'Pod "o" failed',
  });
});

test("anything with Ready or Available is ready", () => {
  expect(readinessOf(object("example.com/v1", "Thing", conditions(["Ready", "True"]))).is).toBe("succeeded");
  expect(readinessOf(object("example.com/v1", "Thing", conditions(["Available", "True"]))).is).toBe("succeeded");
  expect(readinessOf(object("example.com/v1", "Thing", conditions(["Ready", "False"]))).is).toBe("running");
});

test("a Deployment is ready when every replica is a new one", () => {
  const status = { ...conditions(["Available", "True"]), observedGeneration: 2, replicas: 3, updatedReplicas: 2 };
  const deployment = (more: object) => object("apps/v1", "Deployment", { ...status, ...more }, { replicas: 3 });
  expect(readinessOf(deployment({})).is).toBe("running");
  expect(readinessOf(deployment({ updatedReplicas: 3 })).is).toBe("succeeded");
  expect(readinessOf(deployment({ updatedReplicas: 3, observedGeneration: 1 })).is).toBe("running");
  expect(readinessOf(deployment({ updatedReplicas: 3, replicas: 4 })).is).toBe("running");
});

test("a kind without a rule of its own is known as such", () => {
  expect(hasCompletionRule("batch/v1", "Job")).toBe(true);
  expect(hasCompletionRule("example.com/v1", "Job")).toBe(false);
});

test("what a status says as a whole of an older generation than was written says nothing", () => {
  const failed = { status: "workflowFailed", observedGeneration: 1 };
  const application = object("core.oam.dev/v1beta1", "Application", failed);
  expect(stateOfObject(application).is).toBe("failed");
  expect(stateOfObject(application, 1).is).toBe("failed");
  expect(stateOfObject(application, 2).is).toBe("running");
  expect(stateOfObject(object("v1", "ConfigMap"), 2).is).toBe("succeeded");
  const ready = { ...conditions(["Ready", "True"]), observedGeneration: 1 };
  expect(readinessOf(object("example.com/v1", "Thing", ready), 2).is).toBe("running");
});

test("a condition about what was written counts, although the object has been changed since", () => {
  const status = { conditions: [{ type: "Complete", status: "True", observedGeneration: 2 }] };
  const thing = object("example.com/v1", "Thing", status, undefined, 3);
  expect(stateOfObject(thing).is).toBe("running");
  expect(stateOfObject(thing, 2).is).toBe("succeeded");
});
