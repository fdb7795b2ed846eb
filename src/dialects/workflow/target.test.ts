import { expect, test } from "vitest";
import type { Workflow } from "./kinds.ts";
import { upToStep } from "./target.ts";

const container = { image: "i" };
const workflow: Workflow = {
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name: "w", labels: { a: "b" } },
  spec: {
    parallelism: 2,
    steps: {
      build: { container },
      test: { container, dependencies: ["build"] },
      ship: { container, dependencies: ["test"] },
      other: { container },
    },
    finally: { report: { container } },
    finallyDeadlineSeconds: 5,
    outputs: { x: "steps.ship.phase" },
  },
};

test("a step and its ancestors are left, with everything that is not about the whole", () => {
  const { apiVersion, kind, metadata } = workflow;
  const steps = { build: { container }, test: { container, dependencies: ["build"] } };
  expect(upToStep(workflow, "test")).toEqual({ apiVersion, kind, metadata, spec: { parallelism: 2, steps } });
});

test("a step without dependencies is alone", () => {
  expect(upToStep(workflow, "other")).toMatchObject({ spec: { steps: { other: { container } } } });
  expect(Object.keys(workflow.spec.steps ?? {})).toHaveLength(4);
});
