import { int, item } from "./arrays.ts";
import type { Effect } from "./facts.ts";
import { attemptsOf, decodePhases, itemPhase, type ItemsState } from "./items.ts";
import { layoutOf } from "./layout.ts";
import { type Ledger, owesEffect } from "./ledger.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { isActive, type RunState, type StepState, stepState } from "./run.ts";

/** What the run owes, in topological order. Perform it only if the state is stored. O(V). */
export function effectsOf(plan: Plan, run: RunState): readonly Effect[] {
  const layout = layoutOf(plan);
  const effects: Effect[] = [];
  for (const node of layout.order) {
    const id = item(layout.ids, node);
    const step = item(layout.steps, node);
    const state = stepState(run, id);
    if (owesEffect(step, state)) effects.push(effectOf(id, step, state));
    else if (step.kind === "fan" && state.items !== undefined && isActive(state.phase))
      effects.push(...itemEffects(id, step, state, state.items));
  }
  return effects;
}

/** Like `effectsOf`, from the books. O(k log k) for k effects. */
export function owedEffects({ layout, states, owing, fans }: Ledger): readonly Effect[] {
  const nodes = [...owing].sort((a, b) => int(layout.position, a) - int(layout.position, b));
  return nodes.flatMap((node) => {
    const [id, step, state] = [item(layout.ids, node), item(layout.steps, node), item(states, node)];
    const books = fans.get(node);
    if (books === undefined) return [effectOf(id, step, state)];
    const { phases, attempts } = books;
    return [...books.owing].sort((a, b) => a - b).map((index) => itemEffect(id, step, state, index, phases, attempts));
  });
}

function itemEffects(id: string, step: PlanStep, state: StepState, items: ItemsState): Effect[] {
  const phases = decodePhases(items.states, items.total);
  const attempts = attemptsOf(items, phases);
  const owing = [...phases.keys()].filter(
    (index) => phases[index] === itemPhase.starting || phases[index] === itemPhase.cancelling,
  );
  return owing.map((index) => itemEffect(id, step, state, index, phases, attempts));
}

function itemEffect(
  id: string,
  step: PlanStep,
  state: StepState,
  index: number,
  phases: Uint8Array,
  attempts: Uint16Array,
): Effect {
  const phase = phases[index] === itemPhase.starting ? "Starting" : "Cancelling";
  return { ...effectOf(id, step, { ...state, phase }), item: { index, attempt: attempts[index] ?? 0 } };
}

function effectOf(id: string, step: PlanStep, { phase, attempt }: StepState): Effect {
  if (phase === "Starting") return { kind: "start", step: id, attempt };
  return { kind: "cancel", step: id, attempt, ...(step.graceMs === undefined ? {} : { graceMs: step.graceMs }) };
}
