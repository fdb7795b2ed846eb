import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import type { Workflow, WorkflowSpec } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { compileWorkflow } from "./compile.ts";

/** What is wrong with a workflow of this one step, as `path: message`. */
function problemsOf(step: JsonObject): readonly string[] {
  const found = collectProblems();
  // Steps are written as a document has them.
  const spec = { steps: { a: step } } as WorkflowSpec;
  const workflow: Workflow = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name: "w" }, spec };
  compileWorkflow(workflow, found);
  return found.problems.map(({ path, message }) => `${path}: ${message}`);
}

const container = { image: "i" };

test.each<[string, JsonObject]>([
  ["a container", { container, cache: {} }],
  ["a fan-out with retries", { container, cache: { maxAgeSeconds: 60 }, forEach: { items: [1] }, retry: { limit: 1 } }],
  ["a key made of the item", { container, cache: { key: "k-${{ item }}" }, forEach: { items: [1] } }],
  ["a template", { template: { apiVersion: "v1", kind: "ConfigMap" }, cache: {} }],
  ["a child with a template and a key", { workflow: { templateRef: { name: "t" } }, cache: { key: "k" } }],
  ["a child that is written here", { workflow: { spec: { steps: { b: { container } } } }, cache: {} }],
])("may have a cache: %s", (_what, step) => {
  expect(problemsOf(step)).toEqual([]);
});

test.each<[string, JsonObject, string]>([
  ["a timer", { wait: { seconds: 1 } }, "only a step that creates a child has a result to keep, and wait creates none"],
  ["a question", { approval: {} }, "only a step that creates a child has a result to keep, and approval creates none"],
  [
    "a reference",
    { externalRef: { apiVersion: "v1", kind: "Pod", name: "p" } },
    "only a step that creates a child has a result to keep, and externalRef creates none",
  ],
  [
    "a loop",
    { container, repeat: { until: "true" } },
    "each round of a loop has inputs of its own; put the loop into a child Workflow",
  ],
  [
    "a child whose template may change",
    { workflow: { templateRef: { name: "t" } } },
    "a step with templateRef requires a key: the cache does not cover the template's content",
  ],
  [
    "a child with such a child",
    { workflow: { spec: { steps: { b: { workflow: { templateRef: { name: "t" } } } } } } },
    "a step with templateRef requires a key: the cache does not cover the template's content",
  ],
])("has none: %s", (_what, step, message) => {
  expect(problemsOf({ ...step, cache: {} })).toEqual([`spec.steps.a.cache: ${message}`]);
});

test("a key is checked as the step itself is", () => {
  expect(problemsOf({ container, cache: { key: "${{ params.none }}" } })).toEqual([
    'spec.steps.a.cache.key: column 5: no parameter "none"',
  ]);
});
