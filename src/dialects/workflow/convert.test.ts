import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { convert, isShipped } from "./convert.ts";
import { collectProblems } from "#kernel/dialect/index.ts";

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

test("a CronWorkflow becomes a ScheduledWorkflow, whose steps are found where they stand", () => {
  const cron = (spec: JsonObject) =>
    shipped({ schedule: "0 3 * * *", failedWorkflowsHistoryLimit: 2, workflowTemplate: { spec } }, "CronWorkflow");
  const { converted, messages } = run(cron({ steps: [{ name: "a" }, { name: "b", dependencies: ["a"] }] }));
  expect(messages).toEqual([]);
  expect(converted?.object).toMatchObject({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "ScheduledWorkflow",
    spec: {
      schedule: "0 3 * * *",
      failedWorkflowsHistoryLimit: 2,
      workflowTemplate: { spec: { steps: { a: {}, b: { dependencies: ["a"] } } } },
    },
  });
  const steps = ["spec", "workflowTemplate", "spec", "steps"];
  expect(converted?.sourcePath([...steps, "b", "dependencies", 0])).toEqual([...steps, 1, "dependencies", 0]);
  expect(run(cron({ steps: [{}] })).messages).toEqual([
    "spec.workflowTemplate.spec.steps[0]: expected an object with a name",
  ]);
});

test("what has no effect in the template of a CronWorkflow, such as a name, is left out; labels stay, and so do unknown fields", () => {
  const metadata = { name: "run", namespace: "n", creationTimestamp: null, labels: { app: "x" }, labl: {} };
  const workflowTemplate = { metadata, spec: { steps: [] } };
  const { converted } = run(shipped({ schedule: "0 3 * * *", workflowTemplate }, "CronWorkflow"));
  expect(converted?.object["spec"]).toHaveProperty("workflowTemplate.metadata", { labels: { app: "x" }, labl: {} });
});

test("an antischedule is refused", () => {
  const { converted, messages } = run(shipped({ schedule: "* * * * *", antischedule: "x" }, "CronWorkflow"));
  expect(converted).toBeUndefined();
  expect(messages).toEqual(["spec.antischedule: antischedule has no counterpart; write the wanted times as schedules"]);
});

test("another kind or version of the group is refused", () => {
  expect(run(shipped({}, "Pipeline")).messages).toEqual(['kind: expected Workflow or CronWorkflow, found "Pipeline"']);
  expect(run({ ...shipped({}), apiVersion: "workflow.k8s.io/v2" }).messages).toEqual([
    'apiVersion: expected workflow.k8s.io/v1, found "workflow.k8s.io/v2"',
  ]);
});

test("only documents of the group are shipped documents", () => {
  expect(isShipped(shipped({}))).toBe(true);
  expect(isShipped({ apiVersion: "slipway.dev/v1alpha1" })).toBe(false);
});
