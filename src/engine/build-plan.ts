import { item } from "./arrays.ts";
import { noRetry } from "./backoff.ts";
import { alwaysGate, defaultGate, failureGate } from "./gates.ts";
import { buildGraph, type GraphLimits, type GraphProblem, type NodeSpec } from "./graph.ts";
import type { Plan, PlanStep, RunPolicy } from "./plan.ts";
import { ok, type Result } from "./values.ts";

/**
 * A plan step with the usual answers filled in: work, default gate, no retry, a failure fails, priority 0. The gates
 * `failureGate` and `alwaysGate` bring `afterFailure` along; a condition that names them has to say so itself.
 */
export const planStep = (fields: Partial<PlanStep> & Pick<PlanStep, "id">): PlanStep => ({
  kind: "work",
  gate: defaultGate,
  retry: noRetry,
  onFailure: "Fail",
  priority: 0,
  ...(fields.gate === failureGate || fields.gate === alwaysGate ? { afterFailure: true } : {}),
  ...fields,
});

const barrierStep = (id: string): PlanStep => planStep({ id, kind: "barrier" });

export interface PlanOptions {
  readonly policy?: RunPolicy;
  readonly final?: Plan;
  readonly limits?: GraphLimits;
}

/**
 * Builds a plan from nodes (in declaration order) and their steps (in any order). A barrier needs no step; a node
 * without a step gets the plainest one. Nested plans are built first and given as `group` of their step. O(V + E).
 */
export function buildPlan(
  nodes: readonly NodeSpec[],
  steps: Iterable<PlanStep>,
  { policy = { strategy: "Continue" }, final, limits }: PlanOptions = {},
): Result<Plan, readonly GraphProblem[]> {
  const graph = buildGraph(nodes, limits);
  if (!graph.ok) return graph;
  const byId = new Map<string, PlanStep>();
  for (const step of steps) byId.set(step.id, step);
  const aligned = graph.value.ids.map((id, node) =>
    item(nodes, node).barrier === true ? barrierStep(id) : (byId.get(id) ?? planStep({ id })),
  );
  return ok({ graph: graph.value, steps: aligned, policy, ...(final === undefined ? {} : { final }) });
}
