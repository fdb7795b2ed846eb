import { isJsonObject } from "#lib/base/index.ts";
import type { StepSource } from "./step-source.ts";

/**
 * A step whose finished Jobs are to be deleted by us. The field is not passed on to the Job, whose own controller
 * could delete it before its outcome was seen.
 */
export interface ExpiringStep {
  readonly key: string;
  /** From the moment the step's outcome was stored. */
  readonly seconds: number;
}

/** The steps whose `jobTemplate` has a `ttlSecondsAfterFinished`. O(steps). */
export function expiringSteps(sources: readonly StepSource[]): readonly ExpiringStep[] {
  return sources.flatMap(({ key, step }) => {
    const job = step.jobTemplate?.["spec"];
    const seconds = isJsonObject(job) ? job["ttlSecondsAfterFinished"] : undefined;
    return typeof seconds === "number" ? [{ key, seconds }] : [];
  });
}
