import type { Workflow, WorkflowSpec } from "#dialects/workflow/kinds.ts";

/** A chain of ten, one -> a hundred -> join, a single step, and one whose run goes soon after its end. */
export type RunKind = "seq" | "fan" | "one" | "brief";

export const chainLength = 10;
export const fanWidth = 100;

const noop = { container: { image: "none", command: ["true"] } };

const names = (count: number) => Array.from({ length: count }, (_, index) => `step-${index}`);

const specs: Readonly<Record<RunKind, WorkflowSpec>> = {
  seq: {
    steps: Object.fromEntries(
      names(chainLength).map((name, index) => [
        name,
        index === 0 ? noop : { ...noop, dependencies: [`step-${index - 1}`] },
      ]),
    ),
  },
  fan: {
    steps: {
      first: noop,
      ...Object.fromEntries(names(fanWidth).map((name) => [name, { ...noop, dependencies: ["first"] }])),
      join: { ...noop, dependencies: names(fanWidth) },
    },
  },
  one: { steps: { only: noop } },
  brief: { ttlSecondsAfterFinished: 5, steps: { only: noop } },
};

/** Steps of a run of this kind. */
export const stepsOf = (kind: RunKind): number => Object.keys(specs[kind].steps ?? {}).length;

export const workflowOf = (kind: RunKind, name: string): Workflow => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name, namespace: "default" },
  spec: specs[kind],
});
