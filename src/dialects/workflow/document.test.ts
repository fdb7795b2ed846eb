import { expect, test } from "vitest";
import { formatProblem, type Problem } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import type { ReadOptions, SourceDocument } from "#kernel/dialect/index.ts";
import { documents } from "./document.ts";

function sourceOf(text: string): SourceDocument {
  const read = readYaml(text, { file: "w.yaml" });
  const document = read.ok ? read.value.documents[0] : undefined;
  if (document === undefined) throw new Error("the test's document is no YAML");
  return document;
}

const head = "apiVersion: slipway.dev/v1alpha1\nkind: Workflow\nmetadata: {name: wf}\n";
const texts = (problems: readonly Problem[]) => problems.map(formatProblem);
const read = (text: string, options?: ReadOptions) => documents.read(sourceOf(text), options);
/** Errors of a workflow whose spec is this text. */
const errors = (spec: string) =>
  texts(read(`${head}spec:\n${spec.replace(/^/gm, "  ")}`).problems).map((text) => text.replace("w.yaml:", ""));
const container = "container: {image: busybox}";

// The rows of the table of bad input, in its order.

test("no steps, an empty step, two union members", () => {
  expect(errors("steps: {}")).toEqual(["5:10: error: spec.steps: at least one step is required"]);
  expect(errors(`steps:\n  x: {}\n  z: {${container}, wait: {seconds: 1}}`)).toEqual([
    "6:8: error: spec.steps.x: exactly one of jobTemplate, externalRef, template, workflow, container, wait, approval is required, found none",
    "7:8: error: spec.steps.z: exactly one of jobTemplate, externalRef, template, workflow, container, wait, approval is required, found container and wait",
  ]);
});

test("every cycle", () => {
  const step = (name: string, dependency: string) => `  ${name}: {${container}, dependencies: [${dependency}]}\n`;
  const steps = [
    ["three", "five"],
    ["four", "three"],
    ["five", "four"],
    ["a", "b"],
    ["b", "a"],
  ] as const;
  expect(errors(`steps:\n${steps.map(([name, dependency]) => step(name, dependency)).join("")}`)).toEqual([
    "5:3: error: spec.steps: cycle: a -> b -> a",
    "5:3: error: spec.steps: cycle: five -> three -> four -> five",
  ]);
});

test("unknown dependency", () => {
  expect(errors(`steps:\n  two: {${container}, dependencies: [thre]}\n  three: {${container}}`)).toEqual([
    '6:55: error: spec.steps.two.dependencies[0]: no step "thre", did you mean "three"',
  ]);
});

test("old draft shapes are answered with the present ones", () => {
  const found = errors(
    `steps:\n  a: {${container}, dependencies: {dependencyIDs: [b]}}\n  b:\n    jobTemplate:\n      template: {}`,
  );
  expect(found).toEqual([
    "6:52: error: spec.steps.a.dependencies: must be a list of step keys, such as [one, two]; an object with dependencyIDs is the shape of an early draft",
    "9:19: error: spec.steps.b.jobTemplate.template: must stand inside spec: jobTemplate holds metadata and spec; a bare JobSpec is the shape of an early draft",
  ]);
});

test("a template beside the spec of a Job is refused, and the spec is judged all the same", () => {
  const pod = "{restartPolicy: Always, containers: [{name: main, image: busybox}]}";
  const found = errors(`steps:\n  b:\n    jobTemplate:\n      spec: {template: {spec: ${pod}}}\n      template: {}`);
  expect(found).toEqual([
    expect.stringMatching(/^9:19: error: spec\.steps\.b\.jobTemplate\.template: must stand inside spec: /),
    expect.stringMatching(/^8:\d+: error: spec\.steps\.b\.jobTemplate\.spec\.template\.spec\.restartPolicy: /),
  ]);
});

test.each(["-42", "0", "1.5", "x"])("activeDeadlineSeconds: %s", (value) => {
  const shown = value === "x" ? '"x"' : value;
  expect(errors(`activeDeadlineSeconds: ${value}\nsteps: {a: {${container}}}`)).toEqual([
    `5:26: error: spec.activeDeadlineSeconds: must be a positive integer, found ${shown}`,
  ]);
});

test("every other count of seconds must be a positive integer as well", () => {
  const spec = `parallelism: 0\nfinallyDeadlineSeconds: -1\nsteps:\n  a: {${container}, timeoutSeconds: 0, deadlineSeconds: 1.5}\n  b: {wait: {seconds: 0}}`;
  expect(errors(spec).map((text) => text.replace(/^\d+:\d+: error: (\S+):.*$/, "$1"))).toEqual([
    "spec.finallyDeadlineSeconds",
    "spec.parallelism",
    "spec.steps.a.timeoutSeconds",
    "spec.steps.a.deadlineSeconds",
    "spec.steps.b.wait.seconds",
  ]);
});

test("Job with selector, manualSelector, restartPolicy Always: field path into the step", () => {
  const spec = `steps:
  a:
    jobTemplate:
      spec:
        selector: {}
        manualSelector: true
        template: {spec: {restartPolicy: Always, containers: [{name: main, image: busybox}]}}`;
  expect(errors(spec)).toEqual([
    "9:21: error: spec.steps.a.jobTemplate.spec.selector: must be absent: the Job selects its own pods",
    "10:27: error: spec.steps.a.jobTemplate.spec.manualSelector: must be absent: the Job selects its own pods",
    '11:44: error: spec.steps.a.jobTemplate.spec.template.spec.restartPolicy: must be Never or OnFailure, found "Always"',
  ]);
});

test("the keys a.b, empty, 64 characters", () => {
  const long = "x".repeat(64);
  const found = errors(`steps:\n  a.b: {${container}}\n  "": {${container}}\n  ${long}: {${container}}`);
  expect(found.map((text) => text.slice(text.indexOf("spec"), text.indexOf(": expected")))).toEqual([
    "spec.steps[]",
    "spec.steps[a.b]",
    `spec.steps.${long}`,
  ]);
});

test("a selector label equal to a template label with another value", () => {
  const spec = `selector: {matchLabels: {app: one}}
steps:
  a:
    jobTemplate:
      metadata: {labels: {app: two}}
      spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}`;
  expect(errors(spec)).toEqual([
    '9:34: error: spec.steps.a.jobTemplate.metadata.labels.app: is "two", but spec.selector puts "one" on every job',
  ]);
});

test("argument of wrong type, missing required, unknown", () => {
  const spec = `params:
- {name: count, type: integer}
- {name: name, required: true}
arguments: {count: many, cuont: 1}
steps: {a: {${container}}}`;
  expect(errors(spec)).toEqual([
    '8:22: error: spec.arguments.count: expected an integer, found "many"',
    '8:14: error: spec.arguments.name: the parameter "name" is required',
    '8:35: error: spec.arguments.cuont: no parameter "cuont" is declared (did you mean "count"?)',
  ]);
});

test("expression syntax error, unknown name: with column", () => {
  const spec = `params: [{name: region}]
steps:
  a: {container: {image: busybox, args: ["\${{ params.regoin }}", "\${{ 1 + }}"]}, when: "success( && true"}
  b: {container: {image: "\${{ nobody }}"}, when: steps.a.phase == "x"}`;
  const found = errors(spec);
  expect(found).toHaveLength(5);
  expect(found.find((text) => text.includes("regoin"))).toMatch(
    /^7:\d+: error: spec\.steps\.a\.container\.args\[0\]: column 5: no parameter "regoin", did you mean "region"$/,
  );
  expect(found.find((text) => text.includes("args[1]"))).toMatch(/column \d+: /);
  expect(found.find((text) => text.includes("spec.steps.a.when"))).toMatch(/column \d+: /);
  expect(found.find((text) => text.includes("spec.steps.b.container.image"))).toMatch(/column 5: .*nobody/);
  expect(found.find((text) => text.includes("spec.steps.b.when"))).toBe(
    '8:52: error: spec.steps.b.when: column 1: step "b" does not depend on "a", so its results are not known',
  );
});

test("1,001 steps", () => {
  const steps = Array.from({ length: 1_001 }, (_, n) => `  s${n}: {${container}}`).join("\n");
  expect(errors(`steps:\n${steps}`)).toEqual(["5:3: error: spec.steps: expected at most 1000 steps, found 1001"]);
});

test("externalRef without name, or to another namespace", () => {
  const text = `apiVersion: slipway.dev/v1alpha1
kind: Workflow
metadata: {name: wf, namespace: here}
spec:
  steps:
    a: {externalRef: {apiVersion: v1, kind: ConfigMap}}
    b: {externalRef: {apiVersion: v1, kind: ConfigMap, name: c, namespace: there}}`;
  expect(texts(read(text).problems)).toEqual([
    "w.yaml:6:22: error: spec.steps.a.externalRef.name: a reference needs apiVersion, kind and name",
    'w.yaml:7:76: error: spec.steps.b.externalRef.namespace: must be the workflow\'s own namespace "here", found "there"',
  ]);
});

// Beyond the table.

test("a problem of the schema and one of the meaning are reported together, each once", () => {
  expect(
    errors(`failureStrategy: Panic\nsteps:\n  a: {${container}, dependencies: [other], retry: {limit: -1}}`),
  ).toEqual([
    '5:20: error: spec.failureStrategy: Unsupported value: "Panic": supported values: "Continue", "Drain", "Cancel"',
    expect.stringMatching(/^7:\d+: error: spec\.steps\.a\.retry\.limit: Invalid value: -1/),
    '7:53: error: spec.steps.a.dependencies[0]: no step "other"',
  ]);
});

test("a broken union member does not count as missing", () => {
  expect(errors("steps: {a: {container: 5}}")).toEqual([
    expect.stringMatching(/spec\.steps\.a\.container: Invalid value: 5/),
  ]);
});

test("parameters of a broken declaration may still be named", () => {
  const found = errors(
    `params: [{name: count, type: strnig}]\narguments: {count: 1}\nsteps: {a: {container: {image: "\${{ params.count }}"}}}`,
  );
  expect(found).toEqual([expect.stringMatching(/spec\.params\[0\]\.type: Unsupported value: "strnig"/)]);
});

test("fields that nobody knows are refused where they stand", () => {
  expect(errors(`stpes: {}\nsteps: {a: {${container}}}`)).toEqual([
    '5:10: error: spec.stpes: is not a field of this kind (did you mean "steps"?)',
  ]);
  expect(errors(`steps: {a: {${container}, dependencis: []}}`)).toEqual([
    expect.stringMatching(
      /spec\.steps\.a\.dependencis: is not a field of this kind \(did you mean "dependencies"\?\)$/,
    ),
  ]);
});

test("a right document is read without loss", () => {
  const { object, problems } = read(`${head}spec: {steps: {a: {${container}}}}`);
  expect(problems).toEqual([]);
  expect(object).toEqual({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: "wf" },
    spec: { steps: { a: { container: { image: "busybox" } } } },
  });
});

test("of a secret parameter a key of a Secret is given as text, and anything else is not repeated", () => {
  const text = `apiVersion: slipway.dev/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:
  params: [{name: token, secret: true}]
  steps: {a: {container: {image: x, env: [{name: T, valueFrom: "\${{ params.token }}"}]}}}`;
  const { object } = read(text, { arguments: { token: "keys/npm" } });
  expect(object?.spec).toMatchObject({ arguments: { token: { secretKeyRef: { name: "keys", key: "npm" } } } });
  const [told = ""] = texts(read(text, { arguments: { token: "hunter22" } }).problems);
  expect(told).toContain("spec.arguments.token: expected SECRET/KEY");
  expect(told).not.toContain("hunter22");
});

test("arguments given as texts are read by their types and win over those of the document", () => {
  const text = `${head}spec:
  params: [{name: count, type: integer}, {name: s}, {name: list, type: array}]
  arguments: {count: 1}
  steps: {a: {${container}}}`;
  const { object } = read(text, { arguments: { count: "7", s: "7", list: "[1]" } });
  expect(object?.spec).toMatchObject({ arguments: { count: 7, s: "7", list: [1] } });
  expect(texts(read(text, { arguments: { count: "x", cuont: "1" } }).problems)).toEqual([
    'w.yaml:6:22: error: spec.arguments.count: expected an integer, found "x"',
    'w.yaml:6:14: error: spec.arguments.cuont: no parameter "cuont" is declared (did you mean "count"?)',
  ]);
});

test("documents of the group are detected, right or wrong, and no others", () => {
  const detect = (text: string) => documents.detect(sourceOf(text));
  expect(detect(head)).toBe(true);
  expect(detect("apiVersion: slipway.dev/v9\nkind: Whatever")).toBe(true);
  expect(detect("apiVersion: workflow.k8s.io/v1\nkind: Workflow")).toBe(true);
  expect(detect("apiVersion: tinkerbell.org/v1alpha1\nkind: Workflow")).toBe(false);
  expect(detect("[1]")).toBe(false);
});

test("another version, another kind and a missing or wrong name are refused", () => {
  expect(texts(read("apiVersion: slipway.dev/v2\nkind: Workflow").problems)).toEqual([
    'w.yaml:1:13: error: apiVersion: expected slipway.dev/v1alpha1, found "slipway.dev/v2"',
  ]);
  expect(texts(read("apiVersion: slipway.dev/v1alpha1\nkind: Wrokflow\nmetadata: {name: x}").problems)).toEqual([
    'w.yaml:2:7: error: kind: expected Workflow, WorkflowTemplate, ScheduledWorkflow, RunAction or ConcurrencyLimit, found "Wrokflow"',
  ]);
  expect(texts(read(`${head.replace("wf", "A_b")}spec: {steps: {a: {${container}}}}`).problems)).toEqual([
    'w.yaml:3:18: error: metadata.name: expected at most 253 lower-case letters, digits, "-" and ".", found "A_b"',
  ]);
});

test("a document of the shipped controller is converted, and its problems stand where they stand in it", () => {
  const text = `apiVersion: workflow.k8s.io/v1
kind: Workflow
metadata: {name: old}
spec:
  steps:
  - name: one
    jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}
  - name: two
    dependencies: [oen]
    jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}
`;
  expect(texts(read(text).problems)).toEqual([
    'w.yaml:9:20: error: spec.steps.two.dependencies[0]: no step "oen", did you mean "one"',
  ]);
  const { object } = read(text.replace("oen", "one"));
  expect(object).toMatchObject({
    apiVersion: "slipway.dev/v1alpha1",
    spec: { steps: { two: { dependencies: ["one"] } } },
  });
});

test("documents of the shipped controller are read although Pods have labels of their own and a template has a name", () => {
  const steps = (indent: string) => `
${indent}selector: {matchLabels: {workflow: nightly}}
${indent}steps:
${indent}- name: one
${indent}  jobTemplate:
${indent}    spec:
${indent}      template:
${indent}        metadata: {labels: {workflow: other, app: web}}
${indent}        spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}`;
  const document = (kind: string, spec: string) =>
    read(`apiVersion: workflow.k8s.io/v1\nkind: ${kind}\nmetadata: {name: old}\nspec:${spec}\n`);
  const cron = `
  schedule: "0 3 * * *"
  workflowTemplate:
    metadata: {name: nightly, labels: {app: web}}
    spec:${steps("      ")}`;
  for (const { problems, object } of [document("Workflow", steps("  ")), document("CronWorkflow", cron)]) {
    expect(texts(problems)).toEqual([]);
    expect(object).toBeDefined();
  }
});
