import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import type { WorkflowSpec, WorkflowStep } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { checkStepBodies } from "./step-rules.ts";
import { stepSources } from "./step-source.ts";

function problems(step: WorkflowStep, spec: WorkflowSpec = {}): readonly string[] {
  const found = collectProblems();
  const whole = { ...spec, steps: { x: step } };
  const context = { namespace: "here", name: "me", selector: spec.selector?.matchLabels ?? {} };
  checkStepBodies(whole, stepSources(whole), context, found.error);
  return found.problems.map((p) => `${p.path.replace("spec.steps.x", "x")}: ${p.message}`);
}

const jobOf = (spec: JsonObject, pod: JsonObject = {}, labels: JsonObject = {}): WorkflowStep => ({
  jobTemplate: {
    metadata: { labels },
    spec: { ...spec, template: { spec: { restartPolicy: "Never", containers: [{ name: "main" }], ...pod } } },
  },
});

test("a Job may not bring its own selector", () => {
  expect(problems(jobOf({ selector: {}, manualSelector: true }))).toEqual([
    "x.jobTemplate.spec.selector: must be absent: the Job selects its own pods",
    "x.jobTemplate.spec.manualSelector: must be absent: the Job selects its own pods",
  ]);
});

test.each([
  ["Always", 'must be Never or OnFailure, found "Always"'],
  [undefined, "must be Never or OnFailure, found nothing, which means Always"],
])("the restart policy %s is refused", (restartPolicy, message) => {
  expect(problems(jobOf({}, { restartPolicy }))).toEqual([
    `x.jobTemplate.spec.template.spec.restartPolicy: ${message}`,
  ]);
});

test.each(["Never", "OnFailure", "${{ params.policy }}"])("the restart policy %s is accepted", (restartPolicy) => {
  expect(problems(jobOf({}, { restartPolicy }))).toEqual([]);
});

test("a Job without spec, template, pod or containers is refused where the gap is", () => {
  expect(problems({ jobTemplate: {} })).toEqual(["x.jobTemplate.spec: the spec of the Job is required"]);
  expect(problems({ jobTemplate: { spec: {} } })).toEqual([
    "x.jobTemplate.spec.template: the template of the Pod is required",
  ]);
  expect(problems({ jobTemplate: { spec: { template: {} } } })).toEqual([
    "x.jobTemplate.spec.template.spec: the spec of the Pod is required",
  ]);
  expect(problems(jobOf({}, { containers: [] }))).toEqual([
    "x.jobTemplate.spec.template.spec.containers: at least one container is required",
  ]);
});

test("a number is the label that it will be", () => {
  const selector = { matchLabels: { app: "1" } };
  expect(problems(jobOf({}, {}, { app: 1 }), { selector })).toEqual([]);
  expect(problems(jobOf({}, {}, { app: 2 }), { selector })).toEqual([
    'x.jobTemplate.metadata.labels.app: is 2, but spec.selector puts "1" on every job',
  ]);
});

test("a label of the selector may not have another value in a template", () => {
  const selector = { matchLabels: { app: "one" } };
  expect(problems(jobOf({}, {}, { app: "two" }), { selector })).toEqual([
    'x.jobTemplate.metadata.labels.app: is "two", but spec.selector puts "one" on every job',
  ]);
  expect(problems(jobOf({}, {}, { app: "one", more: "x" }), { selector })).toEqual([]);
});

test("the Pods of a Job may have other labels than the selector, which selects Jobs", () => {
  const template = { metadata: { labels: { app: "web" } }, spec: { restartPolicy: "Never", containers: [{}] } };
  expect(problems({ jobTemplate: { spec: { template } } }, { selector: { matchLabels: { app: "one" } } })).toEqual([]);
});

test("a selector that cannot be put on jobs is refused", () => {
  expect(problems(jobOf({}), { selector: { matchExpressions: [{}] } })).toEqual([
    "spec.selector.matchExpressions: only matchLabels can be put on the created jobs",
    "spec.selector.matchLabels: at least one label is required",
  ]);
});

test("labels of the selector are labels", () => {
  const selector = { matchLabels: { "a b": "x", app: "no spaces", "example.org/app": "ok", empty: "" } };
  expect(problems(jobOf({}), { selector })).toEqual([
    'spec.selector.matchLabels[a b]: the name must consist of letters, digits, "-", "_" and ".", and start and end with a letter or digit, found "a b: x"',
    'spec.selector.matchLabels.app: must be empty or consist of letters, digits, "-", "_" and ".", and start and end with a letter or digit, found "app: no spaces"',
  ]);
});

test("an empty namespace of a reference is the workflow's own", () => {
  const reference = { apiVersion: "v1", kind: "ConfigMap", name: "c", namespace: "" };
  expect(problems({ externalRef: reference })).toEqual([]);
});

test("a reference needs a name and stays in the namespace", () => {
  const reference = { apiVersion: "v1", kind: "ConfigMap" };
  expect(problems({ externalRef: reference })).toEqual([
    "x.externalRef.name: a reference needs apiVersion, kind and name",
  ]);
  expect(problems({ externalRef: { ...reference, name: "c", namespace: "there" } })).toEqual([
    'x.externalRef.namespace: must be the workflow\'s own namespace "here", found "there"',
  ]);
  expect(problems({ externalRef: { ...reference, name: "c", namespace: "here" } })).toEqual([]);
});

test("a workflow that waits for itself is refused", () => {
  const externalRef = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "me" };
  expect(problems({ externalRef })).toEqual(["x.externalRef: a workflow cannot wait for itself"]);
  expect(problems({ externalRef: { ...externalRef, name: "you" } })).toEqual([]);
});

test("a template is a whole resource of the same namespace", () => {
  expect(problems({ template: { kind: "ConfigMap", metadata: { namespace: "there", generateName: "c-" } } })).toEqual([
    "x.template.apiVersion: a template is a whole resource: apiVersion and kind are required",
    'x.template.metadata.namespace: must be the workflow\'s own namespace "here", found "there"',
    "x.template.metadata.generateName: must be absent: names of children follow from the step",
  ]);
});

test("a container needs an image", () => {
  expect(problems({ container: {} })).toEqual(["x.container.image: an image is required"]);
});

test.each([{}, { seconds: 1, until: "2026-01-01T00:00:00Z" }])("the timer %j is refused", (wait) => {
  expect(problems({ wait })).toEqual(["x.wait: exactly one of seconds and until is required"]);
});

test("fields without meaning for the type are refused", () => {
  expect(problems({ wait: { seconds: 1 }, outputs: {}, completion: "Ready", ownership: "Owned" })).toEqual([
    "x.ownership: only a template has an ownership",
    "x.completion: a timer has no object to look at",
    "x.outputs: a timer has no outputs",
  ]);
});

test("what has no child neither fans out nor loops, and nothing does both", () => {
  expect(problems({ wait: { seconds: 1 }, forEach: { items: [1] } })).toEqual([
    "x.forEach: a timer has no child to fan out",
  ]);
  const reference = { apiVersion: "v1", kind: "ConfigMap", name: "a" };
  expect(problems({ externalRef: reference, repeat: { until: "true" } })).toEqual([
    "x.repeat: a reference has no child to repeat",
  ]);
  expect(problems({ ...jobOf({}), forEach: { items: [1] }, repeat: { until: "true" } })).toEqual([
    "x.repeat: a step has forEach or repeat; loops over items are steps of a child",
  ]);
});
