import { finalScope, layoutOf } from "./layout.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { isTerminal, type RunState, type StepState } from "./run.ts";
import type { Instant } from "./values.ts";

/**
 * `run` and `final`: everything in them. `step`: with retries and waits. `attempt`: one try. `pending`: a try without a
 * sign of life. `approval`: the decision. `cancel`: the end of a cancelled child.
 */
export type DeadlineScope = "run" | "final" | "step" | "attempt" | "pending" | "approval" | "cancel";

/** Clocks that exclude suspension stand still. */
export const isPaused = (run: RunState): boolean => run.suspendedSince !== undefined;

/** Undefined without one, or while it does not count. Main steps must be unsettled. */
export function runDeadline(plan: Plan, run: RunState): Instant | undefined {
  if (plan.policy.deadline === undefined || run.startedAt === undefined) return undefined;
  if (run.closing !== undefined || isPaused(run)) return undefined;
  return run.startedAt + plan.policy.deadline + run.suspendedFor;
}

/** Like `runDeadline`, for unsettled final steps. */
export function finalDeadline(plan: Plan, run: RunState): Instant | undefined {
  const limit = finalScope(layoutOf(plan))?.plan.policy.deadline;
  if (limit === undefined || run.final === undefined) return undefined;
  if (run.final.closing !== undefined || isPaused(run)) return undefined;
  return run.final.startedAt + limit + (run.final.suspendedFor ?? 0);
}

export type Emit = (at: Instant, scope: DeadlineScope) => void;

/** Emits each deadline of a step that counts now, outermost first. */
export function stepDeadlines(step: PlanStep, state: StepState, paused: boolean, emit: Emit): void {
  const { phase } = state;
  if (phase === "Pending" || isTerminal(phase)) return;
  if (phase === "Cancelling") {
    // A group ends with its steps, which have limits.
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
  // Attempts are the items'.
  if (step.kind === "fan") return;
  const since = state.attemptAt ?? state.startedAt ?? 0;
  if (step.timeout !== undefined) emit(since + step.timeout, "attempt");
  if (step.pendingTimeout !== undefined && phase === "Starting") emit(since + step.pendingTimeout, "pending");
}

/** When time alone changes a step; Infinity if never. */
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
