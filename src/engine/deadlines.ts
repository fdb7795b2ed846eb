import { item } from "./arrays.ts";
import { finalScope, type Layout, layoutOf } from "./layout.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { isTerminal, type RunState, type StepState, stepState } from "./run.ts";
import type { Instant } from "./values.ts";

/**
 * What ends when a deadline strikes. `run` and `final`: everything in them. `step`: the step with its retries and waits.
 * `attempt`: one try. `pending`: the time of a try without a sign of life. `approval`: the time to decide. `cancel`: the
 * wait for a cancelled child.
 */
export type DeadlineScope = "run" | "final" | "step" | "attempt" | "pending" | "approval" | "cancel";

export interface Deadline {
  readonly at: Instant;
  readonly scope: DeadlineScope;
  /** Full id; absent for `run` and `final`. */
  readonly step?: string;
}

/**
 * Every deadline that counts now, computed from the start instants in the state and the durations of the plan as they are
 * today. Those that suspension stops are left out while the run is suspended. O(V).
 */
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

/** Those that have struck: `now >= at`. */
export const expired = (list: readonly Deadline[], now: Instant): readonly Deadline[] =>
  list.filter((deadline) => now >= deadline.at);

function isOpen(layout: Layout, run: RunState, node: number, inFinal: boolean): boolean {
  const step = item(layout.steps, node);
  const scope = item(layout.scopes, layout.scopeOf[node] ?? 0);
  return (
    scope.isFinal === inFinal && step.kind !== "barrier" && !isTerminal(stepState(run, item(layout.ids, node)).phase)
  );
}

/** Whether the clocks that suspension stops stand still. */
export const isPaused = (run: RunState): boolean => run.suspendedSince !== undefined;

/** When the run's deadline strikes; undefined when it has none or it does not count now. The caller knows that main steps are unsettled. */
export function runDeadline(plan: Plan, run: RunState): Instant | undefined {
  if (plan.policy.deadline === undefined || run.startedAt === undefined) return undefined;
  if (run.closing !== undefined || isPaused(run)) return undefined;
  return run.startedAt + plan.policy.deadline + run.suspendedFor;
}

/** As `runDeadline`, for the final part; the caller knows that final steps are unsettled. */
export function finalDeadline(plan: Plan, run: RunState): Instant | undefined {
  const limit = finalScope(layoutOf(plan))?.plan.policy.deadline;
  if (limit === undefined || run.final === undefined) return undefined;
  if (run.final.closing !== undefined || isPaused(run)) return undefined;
  return run.final.startedAt + limit + (run.final.suspendedFor ?? 0);
}

export type Emit = (at: Instant, scope: DeadlineScope) => void;

/** Calls `emit` for each deadline of one step that counts now, the outermost first. */
export function stepDeadlines(step: PlanStep, state: StepState, paused: boolean, emit: Emit): void {
  const { phase } = state;
  if (phase === "Pending" || isTerminal(phase)) return;
  if (phase === "Cancelling") {
    // A group is through when its steps are; each of them has its own limit.
    if (step.cancelTimeout !== undefined && step.kind !== "group")
      emit((state.cancelledAt ?? 0) + step.cancelTimeout, "cancel");
    return;
  }
  const suspended = state.suspendedFor ?? 0;
  if (step.deadline !== undefined && !paused) emit((state.readyAt ?? 0) + step.deadline + suspended, "step");
  if (phase === "Suspended") {
    if (step.timeout !== undefined && !paused) emit((state.startedAt ?? 0) + step.timeout + suspended, "approval");
    return;
  }
  if (phase === "Waiting") return;
  // Each item of a fan-out has its own attempts.
  if (step.kind === "fan") return;
  const since = state.attemptAt ?? state.startedAt ?? 0;
  if (step.timeout !== undefined) emit(since + step.timeout, "attempt");
  if (step.pendingTimeout !== undefined && phase === "Starting") emit(since + step.pendingTimeout, "pending");
}

/** The next instant at which time alone changes a step; Infinity when there is none. */
export function dueAt(step: PlanStep, state: StepState, paused: boolean): Instant {
  let earliest = state.phase === "Waiting" ? (state.notBefore ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
  if (!isTimed(step)) return earliest;
  stepDeadlines(step, state, paused, (at) => {
    if (at < earliest) earliest = at;
  });
  return earliest;
}

const isTimed = (step: PlanStep): boolean =>
  step.timeout !== undefined ||
  step.deadline !== undefined ||
  step.pendingTimeout !== undefined ||
  step.cancelTimeout !== undefined;
