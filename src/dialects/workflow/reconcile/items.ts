import { getOrAdd, type JsonValue } from "#lib/base/index.ts";
import { activeItems, type ItemTry, stepState } from "#engine/index.ts";
import type { CompiledStep, CompiledWorkflow } from "../compile/compiled.ts";
import { itemsOf, itemValues } from "../compile/for-each.ts";
import type { Attempt, StepExecutor } from "../steps/executor.ts";
import { attemptOf, type PassState, valuesOf } from "./attempts.ts";

/** Items by step and run number, which do not change within a run. */
const lists = new WeakMap<
  CompiledWorkflow,
  Map<string, { readonly run: number; readonly items: readonly JsonValue[] }>
>();

/** Evaluated once per run; empty if that fails, in which case no item was started. */
function itemListOf(state: PassState, step: CompiledStep): readonly JsonValue[] {
  const { compiled, run } = state;
  const known = getOrAdd(lists, compiled, () => new Map());
  const last = known.get(step.key);
  if (last?.run === run.number) return last.items;
  const found = itemsOf(step, compiled, valuesOf(state, step.final));
  const items = found.ok ? found.value : [];
  known.set(step.key, { run: run.number, items });
  return items;
}

/** The attempt of an item: like a step's, with its own number and phase. The executor names its child. */
export function itemAttempt(
  state: PassState,
  step: CompiledStep,
  executor: StepExecutor,
  { index, attempt: number }: ItemTry,
  phase: Attempt["phase"],
): Attempt {
  const value = itemListOf(state, step)[index] ?? null;
  const attempt = attemptOf(state, step);
  const of: Attempt = {
    ...attempt,
    number,
    phase,
    item: { index, value },
    values: { ...attempt.values, local: itemValues(index, value) },
    reference: undefined,
  };
  return { ...of, reference: executor.reference(of) };
}

/** Items that may have a living child. */
export const activeAttempts = (state: PassState, step: CompiledStep, executor: StepExecutor): readonly Attempt[] =>
  activeItems(stepState(state.run, step.key)).map(({ phase, ...item }) =>
    itemAttempt(state, step, executor, item, phase),
  );
