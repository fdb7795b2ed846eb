import { expect, test } from "vitest";
import { type RunState, type SimulatedAttempt, simulate } from "#engine/index.ts";
import type { Workflow, WorkflowSpec } from "./kinds.ts";
import { simulationOf } from "./simulation.ts";

const container = { image: "i" };
const workflow = (spec: WorkflowSpec): Workflow => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name: "w" },
  spec,
});

/** Runs a specification to its end; attempts of the steps in `failing` fail. */
function end(spec: WorkflowSpec, ...failing: readonly string[]): RunState {
  const simulation = simulationOf(workflow(spec), []);
  if (!simulation.ok) throw new Error(JSON.stringify(simulation.error));
  const { plan, end: endOf } = simulation.value;
  const world = {
    duration: () => 1000,
    end: (attempt: SimulatedAttempt) => endOf(attempt, failing.includes(attempt.step)),
    decide: () => "approve" as const,
  };
  return simulate(plan, world, 0).run;
}

test("outputs are texts that name them, and conditions are asked of these texts", () => {
  const { steps } = end({
    steps: {
      build: { container, outputs: { image: {} } },
      same: { container, dependencies: ["build"], when: 'steps.build.outputs.image == "<steps.build.outputs.image>"' },
      other: { container, dependencies: ["build"], when: 'steps.build.outputs.image == "x"' },
    },
  });
  expect(steps["build"]?.outputs).toEqual({ image: "<steps.build.outputs.image>" });
  expect(steps["same"]?.phase).toBe("Succeeded");
  expect(steps["other"]).toMatchObject({ phase: "Skipped", reason: "ConditionFalse" });
});

test("items have outputs of their own; a list that a step would give stands for one item", () => {
  const { steps } = end({
    steps: {
      listed: { container, forEach: { items: [1, 2] }, outputs: { x: {} } },
      given: { container, dependencies: ["listed"], forEach: { from: "steps.listed.outputs.x" } },
      unknown: { container, dependencies: ["one"], forEach: { from: "steps.one.outputs.list" } },
      one: { container, outputs: { list: {} } },
    },
  });
  expect(steps["listed"]?.outputs).toEqual({ x: ["<steps.listed.outputs.x[0]>", "<steps.listed.outputs.x[1]>"] });
  expect(steps["given"]?.items?.total).toBe(2);
  expect(steps["unknown"]).toMatchObject({ phase: "Succeeded", items: { total: 1 } });
});

test("a loop goes on while its condition is about the round alone, and ends where the result is asked", () => {
  const { steps } = end({
    steps: {
      counted: { container, repeat: { until: "iteration == 3" } },
      asked: { container, repeat: { until: "result.ready" } },
    },
  });
  expect(steps["counted"]).toMatchObject({ phase: "Succeeded", iteration: 3 });
  expect(steps["asked"]).toMatchObject({ phase: "Succeeded", attempt: 1 });
});

test("retry.expression is asked of a program that ended with 1", () => {
  const retried = (expression: string) =>
    end({ steps: { a: { container, retry: { limit: 2, expression } } } }, "a").steps["a"]?.attempt;
  expect(retried("exitCode == 1")).toBe(3);
  expect(retried("exitCode == 2")).toBe(1);
});

test("a time that a step would give is now", () => {
  const { steps } = end({
    steps: {
      plan: { container, outputs: { at: {} } },
      pause: { dependencies: ["plan"], wait: { until: "steps.plan.outputs.at" } },
    },
  });
  expect(steps["pause"]?.phase).toBe("Succeeded");
});

test("one approval is enough, and what people would give has a text that names it", () => {
  const { steps } = end({
    steps: {
      plan: { container, outputs: { at: {} } },
      ask: {
        dependencies: ["plan"],
        approval: { message: "${{ fromJson(steps.plan.outputs.at) }}", minApprovals: 2, inputs: [{ name: "tag" }] },
      },
    },
  });
  expect(steps["ask"]).toMatchObject({
    phase: "Succeeded",
    outputs: { tag: "<steps.ask.outputs.tag>", approvedBy: "<steps.ask.outputs.approvedBy>" },
  });
});

test("a template is looked for among the documents, and what is wrong only with it is told", () => {
  const template = (steps: WorkflowSpec["steps"]) => ({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "WorkflowTemplate",
    metadata: { name: "t" },
    spec: { params: [{ name: "who", required: true }], ...(steps === undefined ? {} : { steps }) },
  });
  const referring = workflow({ templateRef: { name: "t" }, arguments: { who: "me" } });
  const found = simulationOf(referring, [template({ a: { container }, b: { container } })]);
  expect(found.ok && found.value.plan.graph.ids).toEqual(["a", "b"]);
  expect(simulationOf(referring, [])).toMatchObject({
    error: [{ message: 'there is no WorkflowTemplate "t" among the documents' }],
  });
  const lacking = simulationOf(workflow({ templateRef: { name: "t" } }), [template({ a: { container } })]);
  expect(lacking).toMatchObject({ ok: false, error: [{ code: "missing-argument" }] });
});

test("locks have the places of a ConcurrencyLimit among the documents, else one", () => {
  const spec = { steps: { a: { container, locks: [{ name: "db" }, { name: "api" }] } } };
  const limit = {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "ConcurrencyLimit",
    metadata: { name: "api" },
    spec: { limit: 3 },
  };
  const simulation = simulationOf(workflow(spec), [limit]);
  if (!simulation.ok) throw new Error(JSON.stringify(simulation.error));
  expect(simulation.value.locks("a")).toEqual([
    { name: "api", places: 3 },
    { name: "db", places: 1 },
  ]);
});
