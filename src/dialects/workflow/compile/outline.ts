import { buildPlan, noRetry, type NodeSpec, type Plan, planStep } from "#engine/index.ts";
import type { WorkflowSpec } from "../kinds.ts";
import type { StepSource } from "./step-source.ts";

/**
 * Steps, order and final part of any document, even an invalid one, to draw or end a run: without gates, deadlines and
 * expressions. Unknown edges are dropped, and all edges of a cyclic graph. O(steps + dependencies).
 */
export function outlinePlan(spec: WorkflowSpec, sources: readonly StepSource[]): Plan {
  const part = (final: boolean) => sources.filter((source) => source.final === final);
  const final = outline(part(true), {});
  const policy = { strategy: spec.failureStrategy ?? "Continue" } as const;
  return outline(part(false), final.steps.length === 0 ? { policy } : { policy, final });
}

/** Without edges if the graph has a cycle. */
function outline(sources: readonly StepSource[], options: Parameters<typeof buildPlan>[2]): Plan {
  const keys = new Set(sources.map((source) => source.key));
  const nodes = sources.map(({ key, step }): NodeSpec => {
    const dependsOn = step.externalRef === undefined ? (step.dependencies ?? []) : [];
    return { id: key, dependsOn: dependsOn.filter((dependency) => keys.has(dependency)) };
  });
  const steps = sources.map(({ key, step }) =>
    planStep({
      id: key,
      kind: step.approval === undefined ? "work" : "approval",
      retry: { ...noRetry, limit: step.retry?.limit ?? 0 },
      onFailure: step.onFailure ?? "Fail",
    }),
  );
  const plan = buildPlan(nodes, steps, options);
  if (plan.ok) return plan.value;
  const loose = buildPlan(
    nodes.map(({ id }) => ({ id, dependsOn: [] })),
    steps,
    options,
  );
  return loose.ok ? loose.value : emptyPlan;
}

const emptyPlan: Plan = (() => {
  const plan = buildPlan([], []);
  if (!plan.ok) throw new Error("the empty graph is a graph");
  return plan.value;
})();
