import { amend } from "./amend.ts";
import { resetItems } from "./items.ts";
import type { PlanStep } from "./plan.ts";
import type { Outcome, StepState, WaitReason } from "./run.ts";
import type { Instant, JsonObject, Millis } from "./values.ts";

// One function per arrow of the transition table. They do not check whether the arrow is allowed.

export interface Why {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

interface Wait {
  readonly notBefore?: Instant | undefined;
  readonly message?: string | undefined;
  readonly refused?: true;
}

export const toWaiting = (state: StepState, reason: WaitReason, now: Instant, more: Wait = {}): StepState =>
  amend(state, {
    phase: "Waiting",
    reason,
    message: more.message,
    notBefore: more.notBefore,
    refused: more.refused ?? state.refused,
    cancelledAt: undefined,
    readyAt: state.readyAt ?? now,
  });

/** The next attempt is a new one. */
export const toBackoff = (state: StepState, now: Instant, notBefore: Instant, message: string): StepState =>
  amend(state, {
    phase: "Waiting",
    reason: "Backoff",
    message,
    notBefore,
    refused: undefined,
    cancelledAt: undefined,
    readyAt: state.readyAt ?? now,
  });

/** Retries start again with each round. */
export const toNextRound = (state: StepState, now: Instant, interval: Millis): StepState =>
  amend(toWaiting(state, interval > 0 ? "Timer" : "Ready", now, interval > 0 ? { notBefore: now + interval } : {}), {
    iteration: (state.iteration ?? 1) + 1,
    earlierAttempts: state.attempt,
    refused: undefined,
  });

/** Of the next attempt, or again of a refused one. */
export const toStarting = (state: StepState, now: Instant): StepState =>
  amend(state, {
    phase: "Starting",
    attempt: state.refused === true ? state.attempt : state.attempt + 1,
    startedAt: state.startedAt ?? now,
    attemptAt: state.startedAt === undefined ? undefined : now,
    reason: undefined,
    message: undefined,
    notBefore: undefined,
    refused: undefined,
  });

export const toRunning = (state: StepState): StepState =>
  amend(state, { phase: "Running", reason: undefined, message: undefined, notBefore: undefined, refused: undefined });

export const toSuspended = (state: StepState, now: Instant, message?: string): StepState =>
  amend(state, { phase: "Suspended", startedAt: state.startedAt ?? now, reason: undefined, message });

export const toCancelling = (state: StepState, now: Instant, { reason, message }: Why): StepState =>
  amend(state, { phase: "Cancelling", cancelledAt: now, reason, message });

export const toOutcome = (
  state: StepState,
  outcome: Outcome,
  now: Instant,
  more: Why & { readonly outputs?: JsonObject | undefined; readonly artifacts?: JsonObject | undefined } = {},
): StepState =>
  amend(state, {
    phase: outcome,
    finishedAt: now,
    reason: more.reason,
    message: more.message,
    outputs: more.outputs ?? state.outputs,
    artifacts: more.artifacts ?? state.artifacts,
    notBefore: undefined,
    refused: undefined,
    cancelledAt: undefined,
  });

/** Excludes a finished suspension. */
export const afterSuspension = (state: StepState, since: Instant, now: Instant): StepState =>
  amend(state, {
    suspendedFor: (state.suspendedFor ?? 0) + Math.max(0, now - Math.max(since, state.readyAt ?? since)),
  });

/** For another run. Attempts count on, so that names are unique. `keepDone` keeps successful items. */
export const toPending = (state: StepState, keepDone = false): StepState =>
  amend(state, {
    phase: "Pending",
    earlierAttempts: state.attempt === 0 ? undefined : state.attempt,
    reason: undefined,
    message: undefined,
    startedAt: undefined,
    finishedAt: undefined,
    readyAt: undefined,
    attemptAt: undefined,
    notBefore: undefined,
    cancelledAt: undefined,
    suspendedFor: undefined,
    refused: undefined,
    iteration: undefined,
    approvals: undefined,
    artifacts: keepDone && state.items !== undefined ? state.artifacts : undefined,
    outputs: keepDone && state.items !== undefined ? state.outputs : undefined,
    items: state.items && resetItems(state.items, keepDone),
  });

/** Of this run, including the current one. */
export const triesOf = (state: StepState): number => state.attempt - (state.earlierAttempts ?? 0);

/** Succeeded, skipped by its own condition, or forgiven. */
export function isOk(step: PlanStep, state: StepState): boolean {
  if (state.phase === "Succeeded") return true;
  if (state.phase === "Skipped") return state.reason === "ConditionFalse";
  return state.phase === "Failed" && step.onFailure === "Continue";
}
