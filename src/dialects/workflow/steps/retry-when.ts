import type { JsonObject } from "#lib/base/index.ts";
import { evaluateCondition } from "../compile/values.ts";
import type { Attempt } from "./executor.ts";

/** How an attempt failed, as `retry.expression` sees it beside the number of the attempt. */
export interface FailedAttempt {
  readonly reason: string;
  readonly message: string;
  /** Of the container that matters; null where no container ended, such as for the object of a `template`. */
  readonly exitCode: number | null;
  /** What the step wrote before it failed. */
  readonly outputs: JsonObject;
}

/**
 * Whether `retry.expression` wants another attempt. True without an expression; false when it fails, so that a mistake in it
 * never becomes a loop. Asked where the child was observed, because its exit code is known there only; `retry.on` and
 * `retry.limit` are asked by the plan, and both must agree.
 */
export function mayTryAgain(attempt: Attempt, failed: FailedAttempt): boolean {
  const { retryWhen } = attempt.step;
  if (retryWhen === undefined) return true;
  const answer = evaluateCondition(retryWhen, attempt.compiled, attempt.values, { attempt: attempt.number, ...failed });
  return answer.ok && answer.value;
}
