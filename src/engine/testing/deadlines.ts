import { item } from "../arrays.ts";
import { type DeadlineScope, type Emit, finalDeadline, isPaused, runDeadline, stepDeadlines } from "../deadlines.ts";
import { type Layout, layoutOf } from "../layout.ts";
import type { Plan } from "../plan.ts";
import { isTerminal, type RunState, stepState } from "../run.ts";
import type { Instant } from "../values.ts";

export interface Deadline {
  readonly at: Instant;
  readonly scope: DeadlineScope;
  /** Full id; absent for `run` and `final`. */
  readonly step?: string;
}

/** Every deadline that counts now. Those that suspension stops are left out while the run is suspended. */
export function deadlinesOf(plan: Plan, run: RunState): readonly Deadline[] {
  const layout = layoutOf(plan);
  const list: Deadline[] = [];
  const mainOpen = layout.order.some((node) => isOpen(layout, run, node, false));
  const runAt = mainOpen ? runDeadline(plan, run) : undefined;
  if (runAt !== undefined) list.push({ at: runAt, scope: "run" });
  const finalOpen = layout.order.some((node) => isOpen(layout, run, node, true));
  const finalAt = finalOpen ? finalDeadline(plan, run) : undefined;
  if (finalAt !== undefined) list.push({ at: finalAt, scope: "final" });
  for (const node of layout.order) {
    const step = item(layout.ids, node);
    const emit: Emit = (at, scope) => list.push({ at, scope, step });
    stepDeadlines(item(layout.steps, node), stepState(run, step), isPaused(run), emit);
  }
  return list;
}

function isOpen(layout: Layout, run: RunState, node: number, inFinal: boolean): boolean {
  const step = item(layout.steps, node);
  const scope = item(layout.scopes, layout.scopeOf[node] ?? 0);
  return (
    scope.isFinal === inFinal && step.kind !== "barrier" && !isTerminal(stepState(run, item(layout.ids, node)).phase)
  );
}
