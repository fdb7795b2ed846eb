import { int, item } from "./arrays.ts";
import type { Effect } from "./facts.ts";
import { layoutOf } from "./layout.ts";
import { type Ledger, owesEffect } from "./ledger.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { type RunState, type StepState, stepState } from "./run.ts";

/**
 * What the run owes the world: read off its state, so that the same state owes the same after a crash. In topological
 * order. To be performed only when the state is known to be the stored one. O(V).
 */
export function effectsOf(plan: Plan, run: RunState): readonly Effect[] {
  const layout = layoutOf(plan);
  const effects: Effect[] = [];
  for (const node of layout.order) {
    const id = item(layout.ids, node);
    const step = item(layout.steps, node);
    const state = stepState(run, id);
    if (owesEffect(step, state)) effects.push(effectOf(id, step, state));
  }
  return effects;
}

/** As `effectsOf`, from the books. O(k log k) for k effects. */
export function owedEffects({ layout, states, owing }: Ledger): readonly Effect[] {
  const nodes = [...owing].sort((a, b) => int(layout.position, a) - int(layout.position, b));
  return nodes.map((node) => effectOf(item(layout.ids, node), item(layout.steps, node), item(states, node)));
}

function effectOf(id: string, step: PlanStep, { phase, attempt }: StepState): Effect {
  if (phase === "Starting") return { kind: "start", step: id, attempt };
  return { kind: "cancel", step: id, attempt, ...(step.graceMs === undefined ? {} : { graceMs: step.graceMs }) };
}
