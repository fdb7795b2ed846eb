import { allStatuses } from "../pod-types.ts";
import { type Instant, parseInstant } from "#lib/base/index.ts";
import { conditionOf } from "#kernel/kit/index.ts";
import type { JobObject } from "../job-types.ts";
import { metSuccessRule } from "./policies.ts";
import { isIndexed, type Tally } from "./tally.ts";

/** How a Job will end: stored before its remaining pods are ended. */
export interface Verdict {
  readonly type: "Complete" | "Failed";
  /** Kubernetes' word: CompletionsReached, BackoffLimitExceeded, …; or PodRefused. */
  readonly reason: string;
  readonly message: string;
}

export const announcement = ({ type }: Verdict): "SuccessCriteriaMet" | "FailureTarget" =>
  type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";

const defaultBackoffLimit = 6;

/** The verdict on an open Job, undefined while it continues. Pure. An announced one stands, then failures win. */
export function verdictOn(
  job: JobObject,
  tally: Tally,
  startedAt: Instant | undefined,
  now: Instant,
): Verdict | undefined {
  return (
    announced(job) ??
    (tally.fatal === undefined ? undefined : failed(tally.fatal.reason, tally.fatal.message)) ??
    limitVerdict(job, tally) ??
    deadlineVerdict(job, startedAt, now) ??
    indexVerdict(job, tally) ??
    successVerdict(job, tally)
  );
}

const failed = (reason: string, message: string): Verdict => ({ type: "Failed", reason, message });

function announced({ status }: JobObject): Verdict | undefined {
  for (const [announcing, type] of [
    ["FailureTarget", "Failed"],
    ["SuccessCriteriaMet", "Complete"],
  ] as const) {
    const condition = conditionOf(status?.conditions, announcing);
    if (condition?.status === "True") return { type, reason: condition.reason ?? "", message: condition.message ?? "" };
  }
  return undefined;
}

/** With `OnFailure` the restarts within live pods count as well. */
function limitVerdict({ spec }: JobObject, tally: Tally): Verdict | undefined {
  const { failed: failures, active, terminating, lastWords } = tally;
  const limit = spec.backoffLimit ?? defaultBackoffLimit;
  const message = "Job has reached the specified backoff limit";
  const verdict = failed("BackoffLimitExceeded", lastWords === undefined ? message : `${message}; ${lastWords}`);
  if (failures > limit) return verdict;
  if (spec.template.spec.restartPolicy !== "OnFailure") return undefined;
  let restarts = 0;
  for (const { status } of [...active, ...terminating]) {
    for (const one of allStatuses(status)) restarts += one.restartCount;
  }
  return restarts > 0 && restarts >= limit ? verdict : undefined;
}

export function deadlineOf({ spec }: JobObject, startedAt: Instant | undefined): Instant | undefined {
  if (spec.activeDeadlineSeconds === undefined || startedAt === undefined || spec.suspend === true) return undefined;
  return startedAt + spec.activeDeadlineSeconds * 1000;
}

/** Checked before successes, as in Kubernetes: a late Job has failed even if its last pod succeeds. */
function deadlineVerdict(job: JobObject, startedAt: Instant | undefined, now: Instant): Verdict | undefined {
  const deadline = deadlineOf(job, startedAt);
  if (deadline === undefined || now < deadline) return undefined;
  return failed("DeadlineExceeded", "Job was active longer than specified deadline");
}

/** Failed indexes end the Job when there are too many, or when all others are settled. */
function indexVerdict(job: JobObject, { failedIndexes, completedIndexes }: Tally): Verdict | undefined {
  if (failedIndexes.size === 0) return undefined;
  const { maxFailedIndexes, completions = 0 } = job.spec;
  if (maxFailedIndexes !== undefined && failedIndexes.size > maxFailedIndexes) {
    return failed("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes");
  }
  const settled = new Set([...failedIndexes, ...completedIndexes]).size;
  return settled < completions ? undefined : failed("FailedIndexes", "Job has failed indexes");
}

function successVerdict(job: JobObject, { succeeded, completedIndexes, active }: Tally): Verdict | undefined {
  const rule = isIndexed(job) ? metSuccessRule(job.spec, completedIndexes) : undefined;
  if (rule !== undefined)
    return { type: "Complete", reason: "SuccessPolicy", message: `Matched rules at index ${rule}` };
  const { completions } = job.spec;
  // A work queue is empty when one pod has succeeded and the others have ended.
  const isReached = completions === undefined ? succeeded > 0 && active.length === 0 : succeeded >= completions;
  if (!isReached) return undefined;
  return { type: "Complete", reason: "CompletionsReached", message: "Reached expected number of succeeded pods" };
}

export const startOf = ({ status }: JobObject): Instant | undefined => parseInstant(status?.startTime ?? "");
