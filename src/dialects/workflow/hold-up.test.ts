import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { describeWorkflow } from "./describe.ts";
import { holdUpOf } from "./hold-up.ts";
import type { Workflow } from "./kinds.ts";
import { viewWorkflow } from "./view.ts";

const pod = (status: JsonObject): KubeObject & { readonly status: JsonObject } => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  status,
});
const waiting = (reason: string, message: string, more: JsonObject = {}) =>
  pod({ phase: "Pending", containerStatuses: [{ name: "main", state: { waiting: { reason, message } }, ...more }] });

test.each([
  [waiting("CreateContainerConfigError", 'configmap "x" not found'), 'configmap "x" not found', true],
  [waiting("InvalidImageName", "bad"), "bad", true],
  [waiting("ImagePullBackOff", "Back-off pulling image"), "Back-off pulling image", false],
  [
    waiting("CrashLoopBackOff", "back-off 10s", { lastState: { terminated: { exitCode: 3 } } }),
    "back-off 10s, exit code 3",
    false,
  ],
  [
    pod({
      phase: "Pending",
      conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "no node" }],
    }),
    "no node",
    true,
  ],
  [
    pod({
      phase: "Pending",
      initContainerStatuses: [{ state: { waiting: { reason: "ErrImagePull", message: "no" } } }],
    }),
    "no",
    false,
  ],
])("a Pod that does not begin tells why, and whether that passes by itself: %#", (held, message, needsHelp) => {
  expect(holdUpOf([pod({ phase: "Running" }), held])).toMatchObject({ message, needsHelp });
});

test.each([
  pod({}),
  waiting("ContainerCreating", ""),
  waiting("PodInitializing", ""),
  pod({ phase: "Running", containerStatuses: [{ state: { running: {} } }] }),
  pod({ phase: "Failed", containerStatuses: [{ state: { waiting: { reason: "X", message: "m" } } }] }),
  { ...waiting("CrashLoopBackOff", "m"), metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } },
  pod({ phase: "Pending", conditions: 7, containerStatuses: [null, { state: "odd" }] }),
])("a Pod that is on its way, at work or over holds nobody up: %#", (well) => {
  expect(holdUpOf([well])).toBeUndefined();
});

const workflow: Workflow = {
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name: "wf", namespace: "default", uid: "u" },
  spec: { steps: { a: { container: { image: "i" } } } },
  status: {
    phase: "Running",
    statuses: { a: { phase: "Running", attempt: 2, reference: { kind: "Job", name: "j" } } },
  },
};
const ofAttempt = (attempt: string, message: string): KubeObject => ({
  ...waiting("CreateContainerConfigError", message),
  metadata: {
    name: `p${attempt}`,
    labels: { "slipway.dev/step": "a", "slipway.dev/attempt": attempt },
    ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name: "j", uid: "j", controller: true }],
  },
});

test("a step is held up by the Pods of its present attempt while it is active; its logs stay the Job's", () => {
  const pods = [ofAttempt("1", "old"), ofAttempt("2", "new")];
  const [step] = viewWorkflow(workflow, pods).steps;
  expect(step?.holdUp?.message).toBe("new");
  expect(step?.logs.map(({ object }) => object.kind)).toEqual(["Job"]);
  expect(viewWorkflow(workflow, [ofAttempt("1", "old")]).steps[0]?.holdUp).toBeUndefined();
  const ended = { ...workflow, status: { statuses: { a: { phase: "Failed", attempt: 2 } } } } as const;
  expect(viewWorkflow(ended, pods).steps[0]?.holdUp).toBeUndefined();
});

test("describe tells what holds a step up where it would name the child", () => {
  expect(describeWorkflow(workflow, 0, [ofAttempt("2", 'secret "s" not found')])).toMatch(
    /^a +Running +2 .*CreateContainerConfigError: secret "s" not found$/m,
  );
});
