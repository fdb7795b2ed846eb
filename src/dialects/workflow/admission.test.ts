import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { workflowAdmission } from "./admission.ts";

const job = (more: JsonObject = {}): JsonObject => ({ container: { image: "busybox" }, ...more });
const workflow = (spec: JsonObject, status?: JsonObject): JsonObject => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name: "wf", namespace: "default" },
  spec,
  ...(status === undefined ? {} : { status }),
});
const causes = (object: JsonObject, old?: JsonObject) =>
  workflowAdmission.validate(object, old).causes.map(({ field, message }) => `${field}: ${message}`);

test("a status sent along with a new workflow is dropped, and the finalizer is put on", () => {
  const prepared = workflowAdmission.prepareForCreate(workflow({}, { phase: "Succeeded" }));
  expect(prepared).toEqual({
    ...workflow({}),
    metadata: { name: "wf", namespace: "default", finalizers: ["slipway.dev/workflow"] },
  });
  expect(workflowAdmission.prepareForCreate(prepared)).toEqual(prepared);
});

test("a wrong workflow is refused with one cause per field", () => {
  expect(
    workflowAdmission.validate(
      workflow({ activeDeadlineSeconds: -42, steps: { a: {}, b: job({ pendingTimeoutSeconds: 1 }) } }),
    ).causes,
  ).toEqual([
    {
      reason: "FieldValueInvalid",
      field: "spec.activeDeadlineSeconds",
      message: "must be a positive integer, found -42",
    },
    {
      reason: "FieldValueInvalid",
      field: "spec.steps.a",
      message:
        "exactly one of jobTemplate, externalRef, template, workflow, container, wait, approval is required, found none",
    },
    {
      reason: "FieldValueForbidden",
      field: "spec.steps.b.pendingTimeoutSeconds",
      message: "this version does not carry pendingTimeoutSeconds",
    },
  ]);
});

test("what is only unwise is a warning", () => {
  const externalRef = { apiVersion: "v1", kind: "ConfigMap", name: "c" };
  const { causes: found, warnings } = workflowAdmission.validate(
    workflow({ steps: { a: job(), ref: { externalRef, dependencies: ["a"] } } }),
  );
  expect(found).toEqual([]);
  expect(warnings).toEqual([
    "spec.steps.ref.dependencies: an externalRef is watched from the start: its dependencies are ignored",
  ]);
});

test("a specification above one mebibyte is refused when it is created", () => {
  const large = workflow({ steps: { a: job({ description: "x".repeat(1_100_000) }) } });
  expect(causes(large)).toEqual(["spec: must not be larger than 1048576 bytes, found 1100066"]);
});

const statuses: JsonObject = {
  waiting: { phase: "Waiting", reason: "Ready", attempt: 0 },
  running: { phase: "Running", attempt: 1 },
  backoff: { phase: "Waiting", reason: "Backoff", attempt: 1 },
  again: { phase: "Pending", attempt: 1, earlierAttempts: 1 },
  done: { phase: "Succeeded", attempt: 1, complete: true },
};
const keys = ["pending", ...Object.keys(statuses)];
const running = workflow(
  { activeDeadlineSeconds: 60, steps: Object.fromEntries(keys.map((key) => [key, job()])), finally: { last: job() } },
  { phase: "Running", statuses },
);
const withSpec = (change: (spec: JsonObject) => JsonObject): JsonObject => ({
  ...running,
  spec: change(running["spec"] as JsonObject),
});
const withSteps = (change: (steps: JsonObject) => JsonObject): JsonObject =>
  withSpec((spec) => ({ ...spec, steps: change(spec["steps"] as JsonObject) }));
const without = (steps: JsonObject, key: string): JsonObject =>
  Object.fromEntries(Object.entries(steps).filter(([name]) => name !== key));

test.each(["pending", "waiting", "again"])("the step %s, which has not started, may be changed and removed", (key) => {
  expect(
    causes(
      withSteps((steps) => ({ ...steps, [key]: job({ timeoutSeconds: 1 }) })),
      running,
    ),
  ).toEqual([]);
  expect(
    causes(
      withSteps((steps) => without(steps, key)),
      running,
    ),
  ).toEqual([]);
});

test.each([
  ["running", "running"],
  ["backoff", "running"],
  ["done", "completed"],
])("the step %s may neither be changed nor removed", (key, progress) => {
  expect(
    causes(
      withSteps((steps) => ({ ...steps, [key]: job({ timeoutSeconds: 1 }) })),
      running,
    ),
  ).toEqual([`spec.steps.${key}: cannot modify ${progress} step "${key}"`]);
  expect(
    causes(
      withSteps((steps) => without(steps, key)),
      running,
    ),
  ).toEqual([`spec.steps.${key}: cannot delete ${progress} step "${key}"`]);
});

test("every offending step is reported, and a new cycle as well", () => {
  const changed = withSteps((steps) => ({
    ...without(steps, "done"),
    running: job({ timeoutSeconds: 1 }),
    pending: job({ dependencies: ["waiting"] }),
    waiting: job({ dependencies: ["pending"] }),
  }));
  expect(causes(changed, running)).toEqual([
    'spec.steps.running: cannot modify running step "running"',
    'spec.steps.done: cannot delete completed step "done"',
    "spec.steps: cycle: pending -> waiting -> pending",
  ]);
});

test("steps may be added, and unstarted final ones changed", () => {
  const changed = withSpec((spec) => ({
    ...spec,
    steps: { ...(spec["steps"] as JsonObject), fresh: job({ dependencies: ["done"] }) },
    finally: { last: job({ timeoutSeconds: 1 }) },
  }));
  expect(causes(changed, running)).toEqual([]);
});

test.each<[string, JsonObject]>([
  ["activeDeadlineSeconds", { activeDeadlineSeconds: 90 }],
  ["suspend", { suspend: true }],
  ["parallelism", { parallelism: 2 }],
  ["failureStrategy", { failureStrategy: "Drain" }],
])("%s may change at any time", (_field, change) => {
  expect(
    causes(
      withSpec((spec) => ({ ...spec, ...change })),
      running,
    ),
  ).toEqual([]);
});

test.each<[string, JsonObject]>([
  ["selector", { selector: { matchLabels: { a: "b" } } }],
  ["params", { params: [{ name: "x" }] }],
])("%s is immutable", (field, change) => {
  expect(
    causes(
      withSpec((spec) => ({ ...spec, ...change })),
      running,
    ),
  ).toEqual([`spec.${field}: cannot be changed`]);
});

test("of a finished workflow only metadata and the time to live may change", () => {
  const finished = { ...running, status: { phase: "Failed", statuses } };
  const spec = running["spec"] as JsonObject;
  expect(causes({ ...finished, metadata: { name: "wf", labels: { a: "b" } } }, finished)).toEqual([]);
  expect(causes({ ...finished, spec: { ...spec, ttlSecondsAfterFinished: 5 } }, finished)).toEqual([]);
  expect(causes({ ...finished, spec: { ...spec, suspend: true } }, finished)).toEqual([
    "spec.suspend: cannot update completed workflow",
  ]);
});

test("a change of a finished workflow is refused for that alone, however wrong it is", () => {
  const finished = { ...running, status: { phase: "Succeeded", statuses } };
  const spec = running["spec"] as JsonObject;
  const wrong = { ...spec, activeDeadlineSeconds: -1, steps: { a: {}, b: { container: {} } } };
  expect(causes({ ...finished, spec: wrong }, finished)).toEqual([
    "spec.activeDeadlineSeconds: cannot update completed workflow",
    "spec.steps: cannot update completed workflow",
  ]);
  expect(causes({ ...finished, spec: { ...spec, ttlSecondsAfterFinished: -1 } }, finished)).toEqual([
    expect.stringMatching(/^spec\.ttlSecondsAfterFinished: Invalid value: -1/),
  ]);
});

test("a change that makes a specification too large is refused like a new one", () => {
  const small = workflow({ steps: { a: job() } });
  const large = workflow({ steps: { a: job({ description: "é".repeat(600_000) }) } });
  expect(causes(large, small)).toEqual(["spec: must not be larger than 1048576 bytes, found 1200066"]);
});

const server = { serves: (apiVersion: string, kind: string) => `${apiVersion}/${kind}` === "example.com/v1/Thing" };
const warnings = (steps: JsonObject) => workflowAdmission.validate(workflow({ steps }), undefined, server).warnings;

test("steps of kinds that the server does not serve are warned about, and stay allowed", () => {
  const of = (apiVersion: string, kind: string, name = "x") => ({ externalRef: { apiVersion, kind, name } });
  expect(
    warnings({
      a: of("example.com/v1", "Thing"),
      b: of("example.com/v1", "Thingy"),
      c: { template: { apiVersion: "v1", kind: "Pdo" } },
      d: of("slipway.dev/v1alpha1", "Wrkflow"),
      e: { template: { apiVersion: "v1", kind: "${{ workflow.name }}" } },
      f: job(),
    }),
  ).toEqual([
    "spec.steps.b.externalRef.kind: the server serves no Thingy in example.com/v1: the step waits until it does",
    'spec.steps.c.template.kind: the server serves no Pdo in v1: the step waits until it does (did you mean "Pod"?)',
    'spec.steps.d.externalRef.kind: the server serves no Wrkflow in slipway.dev/v1alpha1: the step waits until it does (did you mean "Workflow"?)',
  ]);
});

test("what only another server would carry out is refused by the one that is asked to", () => {
  const pod = { restartPolicy: "Never", hostPID: true, containers: [{ name: "main", image: "i" }] };
  const object = workflow({ steps: { a: { jobTemplate: { spec: { template: { spec: pod } } } } } });
  expect(causes(object)).toEqual([
    expect.stringMatching(/^spec\.steps\.a\.jobTemplate\.spec\.template\.spec\.hostPID: /),
  ]);
});
