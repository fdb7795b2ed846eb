import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import type { Param, WorkflowSpec } from "../kinds.ts";
import { compileWorkflow } from "./compile.ts";
import { checkParams, parseArgument } from "./params.ts";

const token: Param = { name: "token", secret: true };
const reference = { secretKeyRef: { name: "release", key: "npm.token" } };
const password = "hunter22-typed-by-mistake";

function problemsOf(params: readonly Param[], args: Record<string, JsonValue> = {}): readonly string[] {
  const found = collectProblems();
  checkParams({ params, arguments: args }, found.error);
  return found.problems.map(({ path, message }) => `${path}: ${message}`);
}

describe("an argument", () => {
  test.each<[string, JsonValue]>([
    ["a key of a Secret", reference],
    ["one that may be missing", { secretKeyRef: { name: "a", key: "b", optional: true } }],
  ])("is %s", (_what, value) => {
    expect(problemsOf([token], { token: value })).toEqual([]);
  });

  test.each<[string, JsonValue]>([
    ["a text", password],
    ["a number", 12_345_678],
    ["a list", [password]],
    ["something else beside the reference", { ...reference, value: password }],
    ["a reference that is a text", { secretKeyRef: password }],
    ["no name", { secretKeyRef: { name: `${password}!`, key: "a" } }],
    ["no key", { secretKeyRef: { name: "a", key: `${password}/x` } }],
    ["more in the reference", { secretKeyRef: { name: "a", key: "b", value: password } }],
    ["a word for optional", { secretKeyRef: { name: "a", key: "b", optional: password } }],
  ])("is not %s, and what was given is not repeated", (_what, value) => {
    const found = problemsOf([token], { token: value });
    expect(found).toEqual([
      expect.stringMatching(
        /^spec\.arguments\.token: expected .*secretKeyRef|^spec\.arguments\.token: expected .*Secret/,
      ),
    ]);
    expect(found.join()).not.toMatch(/hunter22|12345678/);
  });

  test("must be there, unless there is a default", () => {
    expect(problemsOf([token])).toEqual([
      'spec.arguments.token: the parameter "token" is secret: a key of a Secret is required',
    ]);
    expect(problemsOf([{ ...token, default: reference }])).toEqual([]);
  });

  test("is SECRET/KEY on a command line", () => {
    expect(parseArgument(token, "release/npm.token")).toEqual({ ok: true, value: reference });
  });

  test.each([password, "a/b/c", "/key", "name/", "Name/key", "name/k y", ""])(
    "%j is none, and is not repeated",
    (text) => {
      const read = parseArgument(token, text);
      expect(read).toEqual({ ok: false, error: expect.stringContaining("expected SECRET/KEY") });
      expect(JSON.stringify(read)).not.toContain("hunter22");
    },
  );
});

test("nothing is demanded of a value that nobody looks at, and a default is a reference, too", () => {
  const param: Param = {
    ...token,
    type: "integer",
    enum: [1],
    pattern: "a",
    minimum: 1,
    maximum: 2,
    default: password,
  };
  const found = problemsOf([param]);
  expect(found.map((problem) => problem.slice(0, problem.indexOf(":")))).toEqual(
    ["type", "enum", "pattern", "minimum", "maximum", "default"].map((field) => `spec.params[0].${field}`),
  );
  expect(found.join()).not.toContain("hunter22");
  expect(problemsOf([{ ...token, type: "string" }], { token: reference })).toEqual([]);
});

const box = (more: JsonObject = {}): JsonObject => ({ image: "busybox", ...more });
const used = { name: "TOKEN", valueFrom: "${{ params.token }}" };
const pod = (more: JsonObject) => ({
  restartPolicy: "Never",
  containers: [{ name: "main", image: "busybox" }],
  ...more,
});
const jobOf = (more: JsonObject) => ({ jobTemplate: { spec: { template: { spec: pod(more) } } } });

function compileErrors(step: JsonObject, spec: Partial<WorkflowSpec> = {}): readonly string[] {
  const found = collectProblems();
  const document = { params: [token, { name: "plain", default: "x" }], arguments: { token: reference }, ...spec };
  const whole = { ...document, steps: { a: step, ...spec.steps } } as WorkflowSpec;
  compileWorkflow({ metadata: { name: "w", namespace: "default" }, spec: whole } as never, found);
  return found.problems
    .filter(({ severity }) => severity === "error")
    .map(({ path, message }) => `${path}: ${message}`);
}

describe("a secret parameter may be", () => {
  test.each<[string, JsonObject]>([
    ["a variable of a container", { container: box({ env: [used] }) }],
    ["one in brackets", { container: box({ env: [{ name: "T", valueFrom: '${{params["token"]}}' }] }) }],
    ["a variable of a Job's container", jobOf({ containers: [{ name: "main", image: "b", env: [used] }] })],
    ["one of an init container", jobOf({ initContainers: [{ name: "init", image: "b", env: [used] }] })],
    [
      "one of any object that makes Pods",
      {
        template: {
          apiVersion: "apps/v1",
          kind: "Deployment",
          spec: { template: { spec: pod({ containers: [{ name: "m", env: [used] }] }) } },
        },
      },
    ],
    [
      "an argument for a template",
      { workflow: { templateRef: { name: "t" }, arguments: { any: "${{ params.token }}" } } },
    ],
    [
      "one for a child's secret parameter",
      { workflow: { spec: { params: [token] }, arguments: { token: "${{ params.token }}" } } },
    ],
  ])("%s", (_what, step) => {
    expect(compileErrors(step)).toEqual([]);
  });
});

describe("a secret parameter may not be", () => {
  const body = "spec.steps.a.container";
  test.each<[string, JsonObject, string]>([
    [
      "the value of a variable",
      { container: box({ env: [{ name: "T", value: "${{ params.token }}" }] }) },
      `${body}.env[0].value`,
    ],
    [
      "a part of a text",
      { container: box({ env: [{ name: "T", valueFrom: "x${{ params.token }}" }] }) },
      `${body}.env[0].valueFrom`,
    ],
    [
      "taken apart",
      { container: box({ env: [{ name: "T", valueFrom: "${{ params.token.secretKeyRef }}" }] }) },
      `${body}.env[0].valueFrom`,
    ],
    [
      "one member of what stands there",
      { container: box({ env: [{ name: "T", valueFrom: { secretKeyRef: "${{ params.token }}" } }] }) },
      `${body}.env[0].valueFrom.secretKeyRef`,
    ],
    ["an argument of a program", { container: box({ args: ["${{ params.token }}"] }) }, `${body}.args[0]`],
    ["inside of all parameters", { container: box({ args: ["${{ toJson(params) }}"] }) }, `${body}.args[0]`],
    ["looked for by a computed name", { container: box({ args: ["${{ params[params.plain] }}"] }) }, `${body}.args[0]`],
    ["in a gate", { container: box(), when: "has(params.token)" }, "spec.steps.a.when"],
    [
      "an output",
      { container: box(), outputs: { x: { expression: "params.token" } } },
      "spec.steps.a.outputs.x.expression",
    ],
    ["an item", { container: box(), forEach: { from: "[params.token]" } }, "spec.steps.a.forEach.from"],
    [
      "in a retry",
      { container: box(), retry: { limit: 1, expression: "params.token != null" } },
      "spec.steps.a.retry.expression",
    ],
    ["a cache key", { container: box(), cache: { key: "${{ params.token }}" } }, "spec.steps.a.cache.key"],
    ["in a question", { approval: { message: "${{ params.token }}?" } }, "spec.steps.a.approval.message"],
    [
      "a label",
      { jobTemplate: { metadata: { labels: { a: "${{ params.token }}" } }, spec: { template: { spec: pod({}) } } } },
      "spec.steps.a.jobTemplate.metadata.labels.a",
    ],
    [
      "in another object",
      { template: { apiVersion: "v1", kind: "ConfigMap", data: { a: "${{ params.token }}" } } },
      "spec.steps.a.template.data.a",
    ],
    [
      "an argument for what is not secret",
      { workflow: { spec: { params: [{ name: "t" }] }, arguments: { t: "${{ params.token }}" } } },
      "spec.steps.a.workflow.arguments.t",
    ],
    [
      "a part of an argument",
      { workflow: { templateRef: { name: "t" }, arguments: { t: { x: "${{ params.token }}" } } } },
      "spec.steps.a.workflow.arguments.t.x",
    ],
  ])("%s", (_what, step, path) => {
    expect(compileErrors(step)).toEqual([
      expect.stringMatching(
        /: column \d+: .*secret parameter.* as a whole, as valueFrom of a container's variable or as an argument for a secret parameter$/,
      ),
    ]);
    expect(compileErrors(step)[0]).toContain(`${path}: `);
  });

  test("an output or the concurrency key of the workflow, nor anything by way of the defaults of steps", () => {
    const found = compileErrors(
      { container: box() },
      {
        outputs: { x: "params.token" },
        concurrency: { key: "${{ params.token }}" },
        stepDefaults: { retry: { limit: 1, expression: "params.token == null" } },
      },
    );
    expect(found.map((problem) => problem.slice(0, problem.indexOf(": ")))).toEqual([
      "spec.steps.a.retry.expression",
      "spec.outputs.x",
      "spec.concurrency.key",
    ]);
  });
});

test("without secret parameters all of them may be asked for", () => {
  expect(compileErrors({ container: box({ args: ["${{ toJson(params) }}"] }) }, { params: [], arguments: {} })).toEqual(
    [],
  );
});
