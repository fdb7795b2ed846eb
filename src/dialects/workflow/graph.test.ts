import { expect, test } from "vitest";
import { graphOfWorkflow } from "./graph.ts";
import type { Workflow, WorkflowSpec, WorkflowStatus } from "./kinds.ts";

const container = { image: "i" };
const matrix = { os: ["x", "y"], cpu: [1, 2, 3], exclude: [{ os: "x", cpu: 1 }] };
const graphOf = (spec: WorkflowSpec, status?: WorkflowStatus) => {
  const workflow: Workflow = {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: "w" },
    spec,
    ...(status === undefined ? {} : { status }),
  };
  return new Map(graphOfWorkflow(workflow).nodes.map((node) => [node.id, node]));
};

test("conditions, fan-outs and loops are told in words", () => {
  const nodes = graphOf({
    steps: {
      listed: { container, forEach: { items: ["a", "b"], maxParallel: 1 } },
      crossed: { container, forEach: { matrix } },
      given: { container, forEach: { from: "params.hosts" } },
      polled: { container, repeat: { until: "iteration == 3" } },
      gated: { container, when: "failure()" },
      plain: { container },
      locked: { container, locks: [{ name: "db" }, { name: "api" }] },
    },
    finally: { last: { container, forEach: { items: ["a"] } } },
  });
  expect(nodes.get("listed")).toMatchObject({ forEach: "2 items, 1 at once", final: false });
  expect(nodes.get("crossed")).toMatchObject({ forEach: "5 items" });
  expect(nodes.get("given")).toMatchObject({ forEach: "params.hosts" });
  expect(nodes.get("polled")).toMatchObject({ repeat: "until iteration == 3, at most 10 rounds" });
  expect(nodes.get("gated")).toMatchObject({ condition: "failure()" });
  expect(nodes.get("last")).toMatchObject({ forEach: "1 item", final: true });
  expect(nodes.get("locked")).toMatchObject({ locks: "db, api" });
  expect(nodes.get("plain")).toEqual({ id: "plain", name: "plain", final: false, rank: 0, phase: "Pending" });
});

test("an approval says what it asks for, as a form does", () => {
  const nodes = graphOf({
    steps: { plan: { approval: { inputs: [{ name: "replicas", type: "integer", default: 2, enum: [1, 2] }] } } },
  });
  expect(nodes.get("plan")?.asks).toEqual([
    { name: "replicas", type: "number", default: "2", options: ["1", "2"], isRequired: false },
  ]);
});

test("a fan-out that has started tells how far its items are", () => {
  const nodes = graphOf(
    { steps: { many: { container, forEach: { items: ["a", "b", "c"] } } } },
    { statuses: { many: { phase: "Running", attempt: 1, items: { total: 3, states: "1S1F1R" } } } },
  );
  expect(nodes.get("many")).toMatchObject({ phase: "Running", items: "1 of 3 done, 1 failed, 1 active" });
});

test("before a run of a template starts, its steps are those of the template beside it", () => {
  const workflow: Workflow = {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { generateName: "w-" },
    spec: { templateRef: { name: "t" } },
  };
  const template = (name: string) => ({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "WorkflowTemplate",
    metadata: { name },
    spec: { steps: { [`of-${name}`]: { container } } },
  });
  const ids = (...names: readonly string[]) => graphOfWorkflow(workflow, names.map(template)).nodes.map(({ id }) => id);
  expect(ids("other", "t")).toEqual(["of-t"]);
  expect(ids("other")).toEqual([]);
});
