import type { ActionFact, ActionName } from "./facts.ts";

export const reasons = {
  expressionError: "ExpressionError",
  /** It was there before. */
  childDeleted: "ChildDeleted",
  timeout: "Timeout",
  pendingTimeout: "PendingTimeout",
  stepDeadline: "StepDeadlineExceeded",
  /** Or nobody approved in time. */
  rejected: "Rejected",
  stepCanceled: "StepCanceled",
  /** Or timed out. */
  groupCanceled: "GroupCanceled",
  runCanceled: "RunCanceled",
  deadline: "DeadlineExceeded",
  itemsFailed: "ItemsFailed",
  iterationsExhausted: "IterationsExhausted",
  runFailing: "RunFailing",
  /** A run because of a step, or a group because of its steps. */
  stepFailed: "StepFailed",
  /** The main part succeeded. */
  finalStepFailed: "FinalStepFailed",
  canceled: "Canceled",
} as const;

/** `90s`, `1.5s`. */
export const seconds = (ms: number): string => `${ms / 1000}s`;

/** ` (and 2 others)`, or nothing. */
export const andOthers = (count: number): string =>
  count === 0 ? "" : ` (and ${count} other${count === 1 ? "" : "s"})`;

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
