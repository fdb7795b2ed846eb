import { expect, test } from "vitest";
import { newRun, type RunState, simulate } from "#engine/index.ts";
import type { WorkflowSpec } from "./kinds.ts";
import { simulationOf } from "./simulation.ts";

const container = { image: "i" };

/** What every attempt of a specification creates when all goes well, by step and item. */
function manifestsOf(spec: WorkflowSpec): Readonly<Record<string, unknown>> {
  const metadata = { name: "w", namespace: "n" };
  const found = simulationOf({ apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata, spec }, []);
  if (!found.ok) throw new Error(JSON.stringify(found.error));
  const { plan, end, manifest } = found.value;
  const made: Record<string, unknown> = {};
  simulate(
    plan,
    {
      duration: () => 1000,
      end: (attempt) => {
        made[`${attempt.step}${attempt.item === undefined ? "" : attempt.item.index}`] = manifest(attempt);
        return end(attempt, false);
      },
      decide: () => "approve",
    },
    0,
  );
  return made;
}

test("a Job is as it will be, but for the uid and what follows from it", () => {
  const made = manifestsOf({
    steps: {
      build: { container, outputs: { image: {} } },
      push: {
        container: { image: "i", args: ["${{ steps.build.outputs.image }}", "${{ workflow.name }}"] },
        dependencies: ["build"],
      },
    },
  });
  expect(made["push"]).toMatchObject({
    ok: true,
    value: {
      kind: "Job",
      metadata: {
        name: "w-push-<hash>",
        namespace: "n",
        labels: { "slipway.dev/workflow-uid": "<uid>", "slipway.dev/step": "push", "slipway.dev/attempt": "1" },
      },
      spec: { template: { spec: { containers: [{ args: ["<steps.build.outputs.image>", "w"] }] } } },
    },
  });
});

test("a template keeps the name it has, an item has its value, and a timer creates nothing", () => {
  const template = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "own-${{ item }}" } };
  const made = manifestsOf({
    steps: { own: { template, forEach: { items: ["a", "b"] } }, pause: { wait: { seconds: 5 } } },
  });
  expect(made["own1"]).toMatchObject({ value: { kind: "ConfigMap", metadata: { name: "own-b" } } });
  expect(Object.keys(made)).toEqual(["own0", "own1"]);
});

test("a child Workflow is one below its parent", () => {
  const made = manifestsOf({ steps: { sub: { workflow: { spec: { steps: { a: { container } } } } } } });
  expect(made["sub"]).toMatchObject({
    value: {
      kind: "Workflow",
      metadata: { name: "w-sub-<hash>", labels: { "slipway.dev/depth": "1" } },
      spec: { steps: { a: { container } } },
    },
  });
});

test("what needs a value to be told at all says so; an item of an unknown list is called one", () => {
  const made = manifestsOf({
    steps: {
      list: { container, outputs: { hosts: {}, n: {} } },
      each: {
        container: { image: "i", args: ["${{ item }}"] },
        dependencies: ["list"],
        forEach: { from: "steps.list.outputs.hosts" },
      },
      sum: { container: { image: "i", args: ["${{ int(steps.list.outputs.n) + 1 }}"] }, dependencies: ["list"] },
    },
  });
  expect(made["each0"]).toMatchObject({
    value: { spec: { template: { spec: { containers: [{ args: ["<item 0>"] }] } } } },
  });
  expect(made["sum"]).toMatchObject({ ok: false, error: expect.stringContaining("args[0]") });
});

test("a step that is not in the plan creates nothing", () => {
  const run: RunState = newRun;
  const workflow = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name: "w" } } as const;
  const found = simulationOf({ ...workflow, spec: { steps: { a: { container } } } }, []);
  expect(found.ok && found.value.manifest({ step: "b", attempt: 1, iteration: 1, run })).toBeUndefined();
});
