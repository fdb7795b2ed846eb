import { isJsonObject } from "#lib/base/index.ts";
import type { StepSource } from "./step-source.ts";

/** A step whose Jobs the controller deletes: a Job's own TTL could act before its outcome was seen. */
export interface ExpiringStep {
  readonly key: string;
  /** After the outcome was stored. */
  readonly seconds: number;
}

export function expiringSteps(sources: readonly StepSource[]): readonly ExpiringStep[] {
  return sources.flatMap(({ key, step }) => {
    const job = step.jobTemplate?.["spec"];
    const seconds = isJsonObject(job) ? job["ttlSecondsAfterFinished"] : undefined;
    return typeof seconds === "number" ? [{ key, seconds }] : [];
  });
}
