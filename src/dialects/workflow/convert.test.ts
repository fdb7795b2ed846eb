import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { convert, isShipped } from "./convert.ts";
import { collectProblems } from "./problems.ts";

const shipped = (spec: JsonObject, kind = "Workflow"): JsonObject => ({
  apiVersion: "workflow.k8s.io/v1",
  kind,
  metadata: { name: "old" },
  spec,
});

function run(document: JsonObject) {
  const found = collectProblems();
  const converted = convert(document, found.error);
  return { converted, messages: found.problems.map((p) => `${p.path}: ${p.message}`) };
}

test("the list of steps becomes a map and everything else stays", () => {
  const { converted, messages } = run(
    shipped({
      activeDeadlineSeconds: 30,
      selector: { matchLabels: { app: "x" } },
      steps: [
        { name: "one", jobTemplate: { spec: {} } },
        { name: "two", dependencies: ["one"], jobTemplate: { spec: {} }, unknown: 1 },
      ],
    }),
  );
  expect(messages).toEqual([]);
  expect(converted?.object).toEqual({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: "old" },
    spec: {
      activeDeadlineSeconds: 30,
      selector: { matchLabels: { app: "x" } },
      steps: {
        one: { jobTemplate: { spec: {} } },
        two: { dependencies: ["one"], jobTemplate: { spec: {} }, unknown: 1 },
      },
    },
  });
});

test("the list of statuses becomes a map too", () => {
  const { converted } = run({ ...shipped({ steps: [] }), status: { statuses: [{ name: "one", complete: true }] } });
  expect(converted?.object["status"]).toEqual({ statuses: { one: { complete: true } } });
});

test("a place in the converted document is found in the original one", () => {
  const { converted } = run(shipped({ steps: [{ name: "one" }, { name: "two", dependencies: ["thre"] }] }));
  expect(converted?.sourcePath(["spec", "steps", "two", "dependencies", 0])).toEqual([
    "spec",
    "steps",
    1,
    "dependencies",
    0,
  ]);
  expect(converted?.sourcePath(["spec", "selector"])).toEqual(["spec", "selector"]);
  expect(converted?.sourcePath(["spec", "steps", "nobody"])).toEqual(["spec", "steps", "nobody"]);
});

test("two steps of one name and a step without one are both reported", () => {
  const { messages } = run(shipped({ steps: [{ name: "one" }, { name: "one" }, {}] }));
  expect(messages).toEqual([
    'spec.steps[1].name: the name "one" is used twice',
    "spec.steps[2]: expected an object with a name",
  ]);
});

test("a CronWorkflow and its antischedule are refused by name", () => {
  const { converted, messages } = run(shipped({ schedule: "* * * * *", antischedule: "x" }, "CronWorkflow"));
  expect(converted).toBeUndefined();
  expect(messages).toEqual([
    "kind: this version does not carry schedules; CronWorkflow is refused",
    "spec.antischedule: antischedule has no counterpart; write the wanted times as schedules",
  ]);
});

test("another kind or version of the group is refused", () => {
  expect(run(shipped({}, "Pipeline")).messages).toEqual(['kind: expected Workflow, found "Pipeline"']);
  expect(run({ ...shipped({}), apiVersion: "workflow.k8s.io/v2" }).messages).toEqual([
    'apiVersion: expected workflow.k8s.io/v1, found "workflow.k8s.io/v2"',
  ]);
});

test("only documents of the group are shipped documents", () => {
  expect(isShipped(shipped({}))).toBe(true);
  expect(isShipped({ apiVersion: "slipway.dev/v1alpha1" })).toBe(false);
});
