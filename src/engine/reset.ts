import { neighbours } from "./adjacency.ts";
import { amend } from "./amend.ts";
import { int, item } from "./arrays.ts";
import { type Layout, layoutOf } from "./layout.ts";
import type { Plan } from "./plan.ts";
import { isTerminal, type RunState, type StepState, stepState } from "./run.ts";
import { toPending } from "./transitions.ts";
import { err, ok, type Result } from "./values.ts";

/** Without `steps`: everything that did not succeed. */
export interface RetrySelection {
  readonly steps?: readonly string[];
}

/** Resets the selected steps, their dependants and all final steps; attempts count on. O(V + E). */
export function reset(plan: Plan, run: RunState, selection: RetrySelection = {}): Result<RunState, string> {
  if (!isTerminal(run.phase)) return err(`the run is ${run.phase}; only a finished run can be retried`);
  const layout = layoutOf(plan);
  const chosen = new Set<number>();
  for (const id of selection.steps ?? []) {
    const node = layout.nodeById.get(id);
    if (node === undefined || item(layout.steps, node).kind === "barrier") return err(`there is no step "${id}"`);
    chosen.add(node);
  }
  const { again, whole } =
    selection.steps === undefined ? closure(layout, unwell(layout, run), []) : closure(layout, [], chosen);
  if (again.size === 0) return err("no step failed; choose the steps to re-run with --step");
  for (const node of layout.order) {
    if (!item(layout.scopes, int(layout.scopeOf, node)).isFinal) continue;
    again.add(node);
    whole.add(node);
  }
  return ok(restarted(run, resetSteps(layout, run, again, whole)));
}

/** Failed, cancelled, or skipped except by condition. */
function unwell(layout: Layout, run: RunState): number[] {
  return [...layout.order].filter((node) => {
    const { phase, reason } = stepState(run, item(layout.ids, node));
    return phase === "Failed" || phase === "Canceled" || (phase === "Skipped" && reason !== "ConditionFalse");
  });
}

/**
 * What resets with `roots`, and with `wholes` including their steps. A group that depends on a reset step or was asked
 * for resets wholly; one that contains it keeps its other steps; a failed fan-out keeps successful items.
 */
function closure(
  layout: Layout,
  roots: Iterable<number>,
  wholes: Iterable<number>,
): { readonly again: Set<number>; readonly whole: Set<number> } {
  const whole = new Set<number>(wholes);
  const reached = new Set<number>([...roots, ...whole]);
  for (const node of reached) {
    const scope = item(layout.scopes, int(layout.scopeOf, node));
    for (const local of neighbours(scope.plan.graph.successors, node - scope.base)) {
      addWhole(layout, scope.base + local, reached, whole);
    }
    if (scope.group >= 0) reached.add(scope.group);
    if (whole.has(node)) addInner(layout, node, reached, whole);
  }
  return { again: reached, whole };
}

function addWhole(layout: Layout, node: number, reached: Set<number>, whole: Set<number>): void {
  if (whole.has(node)) return;
  whole.add(node);
  // Already reached as a container.
  if (reached.has(node)) addInner(layout, node, reached, whole);
  reached.add(node);
}

function addInner(layout: Layout, node: number, reached: Set<number>, whole: Set<number>): void {
  const nested = int(layout.nested, node);
  if (nested < 0) return;
  const { base, plan } = item(layout.scopes, nested);
  for (let local = 0; local < plan.steps.length; local++) addWhole(layout, base + local, reached, whole);
}

function resetSteps(
  layout: Layout,
  run: RunState,
  again: ReadonlySet<number>,
  whole: ReadonlySet<number>,
): Record<string, StepState> {
  const steps: Record<string, StepState> = {};
  for (const [id, state] of Object.entries(run.steps)) {
    const node = layout.nodeById.get(id);
    steps[id] = node === undefined || !again.has(node) ? state : toPending(state, !whole.has(node));
  }
  return steps;
}

const restarted = (run: RunState, steps: Record<string, StepState>): RunState =>
  amend(run, {
    phase: "Pending",
    number: run.number + 1,
    steps,
    suspendedFor: 0,
    reason: undefined,
    message: undefined,
    startedAt: undefined,
    finishedAt: undefined,
    closing: undefined,
    forced: undefined,
    suspendedSince: undefined,
    suspendRequested: undefined,
    final: undefined,
  });
