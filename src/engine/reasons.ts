import type { ActionFact, ActionName } from "./facts.ts";

/** The reasons the engine itself writes into steps and runs. Other reasons come from facts and gates. */
export const reasons = {
  /** A gate, a timer or an input could not be evaluated. */
  expressionError: "ExpressionError",
  /** The child was there and is not any more. */
  childDeleted: "ChildDeleted",
  /** One attempt took too long. */
  timeout: "Timeout",
  /** One attempt was not seen alive in time. */
  pendingTimeout: "PendingTimeout",
  /** The step took too long, retries and waiting included. */
  stepDeadline: "StepDeadlineExceeded",
  /** A person said no, or nobody said yes in time. */
  rejected: "Rejected",
  /** A person cancelled this step. */
  stepCanceled: "StepCanceled",
  /** The group around the step was cancelled or timed out. */
  groupCanceled: "GroupCanceled",
  /** A person cancelled the run. */
  runCanceled: "RunCanceled",
  /** The run, or its final part, took too long. */
  deadline: "DeadlineExceeded",
  /** Items of a fan-out failed. */
  itemsFailed: "ItemsFailed",
  /** A loop was not done after as many rounds as it may take. */
  iterationsExhausted: "IterationsExhausted",
  /** The strategy ends what a failure makes pointless. */
  runFailing: "RunFailing",
  /** A run failed because of a step, or a group because of one of its steps. */
  stepFailed: "StepFailed",
  /** A run that was fine failed in its final part. */
  finalStepFailed: "FinalStepFailed",
  /** Reason of a run in phase Canceled. */
  canceled: "Canceled",
} as const;

/** Milliseconds as people read them in a message: `90s`, `1.5s`. */
export const seconds = (ms: number): string => `${ms / 1000}s`;

/** ` (and 2 others)` behind what was named; nothing when that is all. */
export const andOthers = (count: number): string =>
  count === 0 ? "" : ` (and ${count} other${count === 1 ? "" : "s"})`;

// For what people read beside a step: who did it, in the past tense.
const past: Readonly<Record<ActionName, string>> = {
  approve: "approved",
  cancel: "canceled",
  reject: "rejected",
  resume: "resumed",
  retry: "retried",
  skip: "skipped",
  suspend: "suspended",
};

/** `rejected by anna: not on a Friday`; undefined when nobody is named and nothing was said. */
export function wordsOf({ action, by, reason }: ActionFact): string | undefined {
  if (by === undefined) return reason;
  return `${past[action]} by ${by}${reason === undefined ? "" : `: ${reason}`}`;
}
