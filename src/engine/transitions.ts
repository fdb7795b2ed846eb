import type { PlanStep } from "./plan.ts";
import { type Outcome, pendingStep, type StepState, type WaitReason } from "./run.ts";
import type { Instant, JsonObject } from "./values.ts";

// One function per arrow of the transition table. Each keeps what it does not know and drops what belonged to the phase
// that is left; none decides whether the arrow may be taken.

/** What a new phase needs to be explained by. */
interface Told {
  readonly reason?: string;
  readonly message?: string | undefined;
}

function leave(state: StepState): Omit<StepState, "phase"> {
  if (state === pendingStep) return { attempt: 0 };
  const { phase: _phase, reason: _reason, message: _message, notBefore: _notBefore, ...kept } = state;
  return kept;
}

const told = ({ reason, message }: Told): Told & { readonly message?: string } => ({
  ...(reason === undefined ? {} : { reason }),
  ...(message === undefined ? {} : { message }),
});

export function toWaiting(
  state: StepState,
  reason: WaitReason,
  now: Instant,
  more: {
    readonly notBefore?: Instant | undefined;
    readonly message?: string | undefined;
    readonly refused?: true;
  } = {},
): StepState {
  const next: StepState = { ...leave(state), phase: "Waiting", readyAt: state.readyAt ?? now, reason };
  if (more.notBefore === undefined && more.message === undefined && more.refused === undefined) return next;
  return {
    ...next,
    ...(more.message === undefined ? {} : { message: more.message }),
    ...(more.notBefore === undefined ? {} : { notBefore: more.notBefore }),
    ...(more.refused === undefined ? {} : { refused: more.refused }),
  };
}

/** The intent of the next attempt, or again of the one the world refused. */
export function toStarting(state: StepState, now: Instant): StepState {
  const { refused, ...kept } = leave(state);
  const attempt = refused === true ? state.attempt : state.attempt + 1;
  if (state.startedAt === undefined) return { ...kept, phase: "Starting", attempt, startedAt: now };
  return { ...kept, phase: "Starting", attempt, attemptAt: now };
}

export function toRunning(state: StepState): StepState {
  const { refused: _refused, ...kept } = leave(state);
  return { ...kept, phase: "Running" };
}

/** An approval that waits for a person. */
export const toSuspended = (state: StepState, now: Instant): StepState => ({
  ...leave(state),
  phase: "Suspended",
  startedAt: state.startedAt ?? now,
});

export const toCancelling = (state: StepState, now: Instant, why: Told): StepState => ({
  ...leave(state),
  phase: "Cancelling",
  cancelledAt: now,
  ...told(why),
});

export function toOutcome(
  state: StepState,
  outcome: Outcome,
  now: Instant,
  more: Told & { readonly outputs?: JsonObject | undefined } = {},
): StepState {
  const { refused: _refused, cancelledAt: _cancelledAt, ...kept } = leave(state);
  return {
    ...kept,
    phase: outcome,
    finishedAt: now,
    ...told(more),
    ...(more.outputs === undefined ? {} : { outputs: more.outputs }),
  };
}

/** Takes a suspension of the run into account that just ended. */
export const afterSuspension = (state: StepState, since: Instant, now: Instant): StepState => ({
  ...state,
  suspendedFor: (state.suspendedFor ?? 0) + Math.max(0, now - Math.max(since, state.readyAt ?? since)),
});

/** Back to the beginning for another run number. Attempts go on counting, so that no two children share a name. */
export function toPending(state: StepState): StepState {
  const {
    refused: _refused,
    cancelledAt: _cancelledAt,
    startedAt: _startedAt,
    finishedAt: _finishedAt,
    readyAt: _readyAt,
    attemptAt: _attemptAt,
    suspendedFor: _suspendedFor,
    earlierAttempts: _earlierAttempts,
    outputs: _outputs,
    ...kept
  } = leave(state);
  return { ...kept, phase: "Pending", ...(kept.attempt === 0 ? {} : { earlierAttempts: kept.attempt }) };
}

/** Attempts made in this run number, the current one included. */
export const triesOf = (state: StepState): number => state.attempt - (state.earlierAttempts ?? 0);

/** Good for dependants: succeeded, skipped by its own condition, or failed and forgiven. */
export function isOk(step: PlanStep, state: StepState): boolean {
  if (state.phase === "Succeeded") return true;
  if (state.phase === "Skipped") return state.reason === "ConditionFalse";
  return state.phase === "Failed" && step.onFailure === "Continue";
}
