import type { ActionFact, ActionName } from "./facts.ts";

/** Reasons the engine itself writes. */
export const reasons = {
  /** Of a gate, timer or input. */
  expressionError: "ExpressionError",
  /** It was there before. */
  childDeleted: "ChildDeleted",
  timeout: "Timeout",
  pendingTimeout: "PendingTimeout",
  /** Including retries and waits. */
  stepDeadline: "StepDeadlineExceeded",
  /** Or nobody approved in time. */
  rejected: "Rejected",
  /** By a person. */
  stepCanceled: "StepCanceled",
  /** Or timed out. */
  groupCanceled: "GroupCanceled",
  runCanceled: "RunCanceled",
  deadline: "DeadlineExceeded",
  itemsFailed: "ItemsFailed",
  /** The limit of rounds is reached. */
  iterationsExhausted: "IterationsExhausted",
  /** Ended by the strategy. */
  runFailing: "RunFailing",
  /** A run because of a step, or a group because of its steps. */
  stepFailed: "StepFailed",
  /** The main part succeeded. */
  finalStepFailed: "FinalStepFailed",
  /** Of a run. */
  canceled: "Canceled",
} as const;

/** `90s`, `1.5s`. */
export const seconds = (ms: number): string => `${ms / 1000}s`;

/** ` (and 2 others)`, or nothing. */
export const andOthers = (count: number): string =>
  count === 0 ? "" : ` (and ${count} other${count === 1 ? "" : "s"})`;

// In the past tense.
const past: Readonly<Record<ActionName, string>> = {
  approve: "approved",
  cancel: "canceled",
  reject: "rejected",
  resume: "resumed",
  retry: "retried",
  skip: "skipped",
  suspend: "suspended",
};

/** `rejected by anna: not on a Friday`; undefined without name and text. */
export function wordsOf({ action, by, reason }: ActionFact): string | undefined {
  if (by === undefined) return reason;
  return `${past[action]} by ${by}${reason === undefined ? "" : `: ${reason}`}`;
}
