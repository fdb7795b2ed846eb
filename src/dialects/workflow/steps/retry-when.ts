import type { JsonObject } from "#lib/base/index.ts";
import { evaluateCondition } from "../compile/values.ts";
import type { Attempt } from "./executor.ts";

export interface FailedAttempt {
  readonly reason: string;
  readonly message: string;
  /** Null without a container. */
  readonly exitCode: number | null;
  /** Written before the failure. */
  readonly outputs: JsonObject;
}

/** Whether `retry.expression` wants another attempt. False if it fails, so that a mistake causes no loop. */
export function mayTryAgain(attempt: Attempt, failed: FailedAttempt): boolean {
  const { retryWhen } = attempt.step;
  if (retryWhen === undefined) return true;
  const answer = evaluateCondition(retryWhen, attempt.compiled, attempt.values, { attempt: attempt.number, ...failed });
  return answer.ok && answer.value;
}
