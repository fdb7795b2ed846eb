import type { ItemsState } from "./items.ts";
import type { Instant, JsonObject, Millis } from "./values.ts";

export type Outcome = "Succeeded" | "Failed" | "Skipped" | "Canceled";

/**
 * Where a step is. `Starting` owes the world a start, `Cancelling` a cancel, everything else nothing: see `effectsOf`.
 *
 * `Pending` some dependency is unsettled; `Waiting` the gate passed but something else is missing, told by `reason`
 * (a `WaitReason`); `Starting` the intent is recorded, the child was not seen yet; `Running` the child was seen alive;
 * `Suspended` waits for a person; `Cancelling` the cancel is intended, the child may still be alive.
 */
export type StepPhase = "Pending" | "Waiting" | "Starting" | "Running" | "Suspended" | "Cancelling" | Outcome;

/** Where a run is. A run starts and waits through its steps only, hence the three phases it does not have. */
export type RunPhase = Exclude<StepPhase, "Waiting" | "Starting" | "Skipped">;

/** Why a step is `Waiting`. `Ready` means only a slot is missing. */
export type WaitReason =
  | "Ready"
  | "Backoff"
  | "Lock"
  | "Quota"
  | "Timer"
  | "Inputs"
  | "KindNotFound"
  | "Forbidden"
  | "ReferenceNotFound";

/** Why a step was skipped. Only `ConditionFalse` is ok for dependants; every other reason carries a failure on. */
export type SkipReason = "ConditionFalse" | "DependencyFailed" | "InputUnavailable" | "RunFailing";

/** Why a run is being ended before its time. A person's cancel outranks the deadline. */
export type Closing = "Cancel" | "Deadline";

/** One CamelCase word for programs, one sentence for people. */
export interface Explained {
  readonly reason?: string;
  readonly message?: string;
}

export interface Timed {
  readonly startedAt?: Instant;
  readonly finishedAt?: Instant;
}

/** One person's agreement to an approval, with what was given along. */
export interface Approval {
  /** Absent where nobody knows who it was; all such agreements count as one person's. */
  readonly by?: string;
  readonly at: Instant;
  readonly values?: JsonObject;
}

/** One step of a run; `Pending` without an entry. The engine keeps fields that are not listed here. */
export interface StepState extends Explained, Timed {
  readonly phase: StepPhase;
  /** The attempt intended last; 0 before the first. Never falls, not even on reset. */
  readonly attempt: number;
  /** Attempts of earlier run numbers. They do not count against the retry limit. Absent means 0. */
  readonly earlierAttempts?: number;
  /** While `Waiting`: nothing happens before this instant. */
  readonly notBefore?: Instant;
  /** When the step left `Pending` in this run number: its own deadline counts from here. */
  readonly readyAt?: Instant;
  /** When the current attempt was intended, if that is not the first of this run number (then it is `startedAt`). */
  readonly attemptAt?: Instant;
  /** When the cancel was intended; present while `Cancelling`. */
  readonly cancelledAt?: Instant;
  /** Time this step spent in a suspended run since `readyAt`; the step's deadline and approval timeout exclude it. */
  readonly suspendedFor?: Millis;
  /** The world refused to create the child of this attempt: the next start is the same attempt again. */
  readonly refused?: true;
  /** Loop: the round it is at, from 1; absent in the first. */
  readonly iteration?: number;
  /** Fan-out: the items, from the first start on. */
  readonly items?: ItemsState;
  /** Approval by rule: who has agreed, in the order they did, each of them once. */
  readonly approvals?: readonly Approval[];
  /** Recorded from the fact that made the step succeed. Never interpreted by the engine. */
  readonly outputs?: JsonObject;
  /** As `outputs`: the files the attempt left, which are kept elsewhere. */
  readonly artifacts?: JsonObject;
}

/** The final plan of a run, from the instant it was opened. */
export interface FinalState {
  readonly startedAt: Instant;
  /** Time spent suspended since `startedAt`; the final deadline excludes it. */
  readonly suspendedFor?: Millis;
  readonly closing?: Closing;
}

/** A run: plain data, never edited in place. The engine keeps fields that are not listed here. */
export interface RunState extends Explained, Timed {
  readonly phase: RunPhase;
  /** Counts from 1; a retry of a finished run adds one. */
  readonly number: number;
  readonly closing?: Closing;
  /** A cancel was forced: final steps are not run. */
  readonly forced?: true;
  /** A person asked for suspension (the plan's policy can ask as well). */
  readonly suspendRequested?: true;
  /** Start of the current suspension; its time is not yet part of `suspendedFor`. */
  readonly suspendedSince?: Instant;
  /** Finished suspensions since `startedAt`; the run's deadline excludes them. */
  readonly suspendedFor: Millis;
  readonly final?: FinalState;
  /** By full id (`group/sub` for nested steps). Holds steps that have left `Pending` or been attempted. */
  readonly steps: Readonly<Record<string, StepState>>;
}

export const pendingStep: StepState = { phase: "Pending", attempt: 0 };

export const newRun: RunState = { phase: "Pending", number: 1, suspendedFor: 0, steps: {} };

/** True for phases that only a reset leaves. */
export function isTerminal(phase: StepPhase): phase is Outcome {
  return phase === "Succeeded" || phase === "Failed" || phase === "Skipped" || phase === "Canceled";
}

export function isActive(phase: StepPhase): boolean {
  return phase === "Starting" || phase === "Running" || phase === "Cancelling";
}

/** The state of a step by full id; a step that has no entry is pending, even if it is called `constructor`. O(1). */
export function stepState(run: RunState, id: string): StepState {
  const found = run.steps[id];
  if (found === undefined) return pendingStep;
  // What every object inherits is functions and its prototype; looking twice at all others would double the cost.
  return (typeof found === "function" || id === "__proto__") && !Object.hasOwn(run.steps, id) ? pendingStep : found;
}
