import { expect, test } from "vitest";
import { defined, type JsonObject } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Step } from "./app.ts";
import type { Application, Policy, Workflow, WorkflowRun } from "./kinds.ts";
import { parseApp, parseRun, unappliedComponents } from "./parse.ts";

const stored = <T>(spec: JsonObject, metadata: JsonObject = {}): T =>
  ({
    apiVersion: "core.oam.dev/v1beta1",
    kind: "Application",
    metadata: { name: "a", namespace: "ns", uid: "u", generation: 3, ...metadata },
    spec,
  }) as unknown as T;

const appOf = (spec: JsonObject, metadata?: JsonObject) => parseApp(stored<Stored<Application>>(spec, metadata));
const web = { name: "web", type: "webservice" };
const brief = ({ name, type, dependsOn }: Step) => [name, type, ...dependsOn];

test("17.3 without a workflow, each component is a step in the order of its dependencies, as DAG-DAG", () => {
  const { workflow } = appOf({
    components: [
      { ...web, dependsOn: ["db"] },
      { name: "db", type: "worker" },
    ],
  });
  expect(workflow.modes).toEqual({ steps: "DAG", subSteps: "DAG" });
  expect(workflow.steps.map(brief)).toEqual([
    ["web", "apply-component", "db"],
    ["db", "apply-component"],
  ]);
  expect(workflow.steps[0]?.properties).toEqual({ component: "web" });
});

test("a step before rendering may have the name of a component that it makes", () => {
  const early = { name: "web", type: "helm-template", stage: "pre-render" };
  const components = [web, { name: "apply-web", type: "worker", dependsOn: ["web"] }];
  expect(appOf({ components, workflow: { steps: [early] } }).workflow.steps.map(brief)).toEqual([
    ["web", "helm-template"],
    ["apply-web-2", "apply-component"],
    ["apply-web", "apply-component", "apply-web-2"],
  ]);
});

test("components that no step applies are told, unless a step may apply them without their name", () => {
  const apply = { type: "apply-component", properties: { component: "web" } };
  const components = [web, { name: "db", type: "worker" }];
  const unapplied = (...steps: readonly JsonObject[]) =>
    unappliedComponents(appOf({ components, workflow: { steps: [...steps] } }));
  expect(unapplied(apply, { type: "suspend" })).toEqual(["db"]);
  expect(unapplied(apply, { type: "deploy" })).toEqual([]);
  expect(unapplied(apply, { type: "of-my-own" })).toEqual([]);
  expect(unappliedComponents(appOf({ components }))).toEqual([]);
});

test("each topology is a deploy with all overrides", () => {
  const { workflow } = appOf({
    components: [web],
    policies: [
      { name: "east", type: "topology", properties: { clusters: ["e"] } },
      { name: "small", type: "override", properties: { a: 1 } },
      { name: "west", type: "topology", properties: { clusters: ["w"] } },
    ],
  });
  expect(workflow.steps.map(({ name, type, properties }) => [name, type, properties])).toEqual([
    ["deploy-east", "deploy", { policies: ["small", "east"] }],
    ["deploy-west", "deploy", { policies: ["small", "west"] }],
  ]);
});

test("overrides or referenced objects alone are one deploy", () => {
  const steps = (spec: JsonObject) => appOf(spec).workflow.steps.map(({ name, properties }) => [name, properties]);
  const override = { name: "small", type: "override", properties: {} };
  expect(steps({ components: [web], policies: [override] })).toEqual([["deploy", { policies: ["small"] }]]);
  expect(steps({ components: [{ name: "r", type: "ref-objects" }] })).toEqual([["deploy", { policies: [] }]]);
});

test.each([
  [undefined, "DAG", "DAG"],
  [{ steps: [{ type: "x" }] }, "StepByStep", "DAG"],
  [{ steps: [{ type: "x" }], mode: { steps: "DAG" } }, "DAG", "DAG"],
  [{ mode: { steps: "StepByStep", subSteps: "StepByStep" } }, "StepByStep", "StepByStep"],
  [{ steps: [{ type: "h", stage: "pre-render" }] }, "DAG", "DAG"],
])("the modes of the workflow %j are %s and %s", (workflow, steps, subSteps) => {
  const spec = { components: [web], ...defined({ workflow }) };
  expect(appOf(spec).workflow.modes).toEqual({ steps, subSteps });
});

test("after pre-render steps alone, the components are applied", () => {
  const workflow = { steps: [{ type: "helm-template", stage: "pre-render" }] };
  expect(appOf({ components: [web], workflow }).workflow.steps.map(brief)).toEqual([
    ["step-0", "helm-template"],
    ["web", "apply-component"],
  ]);
});

test("17.12 a step takes over inputs, outputs and dependencies of its component", () => {
  const component = {
    ...web,
    dependsOn: ["db", "elsewhere"],
    inputs: [
      { from: "a", parameterKey: "image" },
      { from: "b", parameterKey: "properties.env[0].value" },
      { from: "c", parameterKey: "traits[0].properties.x" },
      { from: "d" },
    ],
    outputs: [
      { name: "own", valueFrom: "output.x" },
      { name: "ip", valueFrom: "output.y" },
    ],
  };
  const { workflow } = appOf({
    components: [component, { name: "db", type: "worker" }],
    workflow: {
      steps: [
        { name: "first", type: "apply-component", properties: { name: "db" } },
        {
          name: "second",
          type: "apply-component",
          properties: { component: "web" },
          inputs: [{ from: "z", parameterKey: "patch.x" }],
          outputs: [{ name: "own", valueFrom: "output.mine" }],
        },
      ],
    },
  });
  const [, second] = workflow.steps;
  expect(second?.dependsOn).toEqual(["first"]);
  expect(second?.inputs).toEqual([
    { from: "z", parameterKey: "patch.x" },
    { from: "a", parameterKey: "value.properties.image" },
    { from: "b", parameterKey: "value.properties.env[0].value" },
    { from: "c", parameterKey: "value.traits[0].properties.x" },
    { from: "d", parameterKey: "" },
  ]);
  expect(second?.outputs).toEqual([
    { name: "own", valueFrom: "output.mine" },
    { name: "ip", valueFrom: "output.y" },
  ]);
});

test("steps have names, durations and defaults", () => {
  const { workflow, policies } = appOf({
    components: [web],
    policies: [{ type: "debug" }],
    workflow: {
      steps: [
        { type: "x", timeout: "1d1h", if: "always", meta: { alias: "X" } },
        { type: "step-group", mode: "StepByStep", subSteps: [{ type: "y", timeout: "wrong" }] },
        { name: "r", type: "z", retry: { limit: 2, backoff: { duration: "1s" } } },
      ],
    },
  });
  const [first, group, retried] = workflow.steps;
  expect(first).toMatchObject({ name: "step-0", timeout: 90_000_000, if: "always", alias: "X", stage: "post-render" });
  expect(group).toMatchObject({ name: "step-1", mode: "StepByStep", subSteps: [{ name: "step-1-0", type: "y" }] });
  expect(group?.subSteps[0]).not.toHaveProperty("timeout");
  expect(retried?.retry).toEqual({ limit: 2, backoff: { duration: 1000, factor: 2, cap: 300_000 } });
  expect(policies).toEqual([{ name: "debug-auto-gen-0", type: "debug", properties: {} }]);
});

test("the identity has the revision and what annotations say", () => {
  const annotations = { "app.oam.dev/publishVersion": "v7" };
  const app = stored<Stored<Application>>({ components: [web] }, { annotations, labels: { a: "b" } });
  expect(parseApp(app, { name: "a-v2", number: 2 }).identity).toEqual({
    name: "a",
    namespace: "ns",
    uid: "u",
    generation: 3,
    labels: { a: "b" },
    annotations,
    revision: "a-v2",
    revisionNumber: 2,
    publishVersion: "v7",
    workflowName: "a",
  });
});

const workflow = {
  apiVersion: "core.oam.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name: "w" },
  mode: { steps: "DAG", subSteps: "StepByStep" },
  steps: [{ type: "x" }],
} as unknown as Workflow;

test("steps and modes of a Workflow that is referred to count; the application's own modes win", () => {
  const app = stored<Stored<Application>>({
    components: [web],
    workflow: { ref: "w", mode: { subSteps: "DAG" } },
  });
  const parsed = parseApp(app, undefined, { workflow });
  expect(parsed.workflow.modes).toEqual({ steps: "DAG", subSteps: "DAG" });
  expect(parsed.workflow.steps.map(brief)).toEqual([["step-0", "x"]]);
  expect(parsed.identity.workflowName).toBe("w");
});

test("policies of their own complete those of the application and do not replace them", () => {
  const policy = (name: string) =>
    ({ metadata: { name }, type: "topology", properties: { namespace: name } }) as unknown as Policy;
  const app = stored<Stored<Application>>({
    components: [web],
    policies: [{ name: "east", type: "override", properties: { a: 1 } }],
  });
  const { policies } = parseApp(app, undefined, { policies: [policy("east"), policy("west")] });
  expect(policies.map(({ name, type }) => [name, type])).toEqual([
    ["east", "override"],
    ["west", "topology"],
  ]);
});

test("17.24 a run has the steps of its own or of a Workflow, and a context", () => {
  const own = parseRun(stored<Stored<WorkflowRun>>({ context: { a: 1 }, workflowSpec: { steps: [{ type: "x" }] } }));
  expect(own.identity.custom).toEqual({ a: 1 });
  expect(own.workflow).toMatchObject({ modes: { steps: "StepByStep", subSteps: "DAG" }, steps: [{ name: "step-0" }] });
  const referring = stored<Stored<WorkflowRun>>({ workflowRef: "w", mode: { steps: "StepByStep" } });
  expect(parseRun(referring, workflow).workflow).toMatchObject({
    modes: { steps: "StepByStep", subSteps: "StepByStep" },
    steps: [{ name: "step-0", type: "x" }],
  });
});
