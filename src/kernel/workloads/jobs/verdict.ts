import { type Instant, parseInstant } from "#lib/base/index.ts";
import { conditionOf } from "#kernel/kit/index.ts";
import type { JobObject } from "../job-types.ts";
import { metSuccessRule } from "./policies.ts";
import { isIndexed, type Tally } from "./tally.ts";

/** How a Job will end: decided once and written down before its remaining pods are ended. */
export interface Verdict {
  readonly type: "Complete" | "Failed";
  /** Kubernetes' word: CompletionsReached, SuccessPolicy, BackoffLimitExceeded, DeadlineExceeded, PodFailurePolicy, …; or PodRefused. */
  readonly reason: string;
  readonly message: string;
}

/** The condition that announces a verdict while pods are still ending. */
export const announcement = ({ type }: Verdict): "SuccessCriteriaMet" | "FailureTarget" =>
  type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";

const defaultBackoffLimit = 6;

/**
 * The verdict on a Job that has not ended, or undefined while it goes on. Pure. What was announced stands, whatever happens after
 * it; else a failure comes before a success. `startedAt` is undefined for a Job that has never been worked on.
 */
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

/** A verdict that is written down already: the Job is on its way to this end and to no other. */
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

/** With `OnFailure` containers are restarted within their pod, and those restarts count as well, as long as the pod lives. */
function limitVerdict({ spec }: JobObject, tally: Tally): Verdict | undefined {
  const { failed: failures, active, terminating, lastWords } = tally;
  const limit = spec.backoffLimit ?? defaultBackoffLimit;
  const message = "Job has reached the specified backoff limit";
  const verdict = failed("BackoffLimitExceeded", lastWords === undefined ? message : `${message}; ${lastWords}`);
  if (failures > limit) return verdict;
  if (spec.template.spec.restartPolicy !== "OnFailure") return undefined;
  let restarts = 0;
  for (const { status } of [...active, ...terminating]) {
    for (const one of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])])
      restarts += one.restartCount;
  }
  return restarts > 0 && restarts >= limit ? verdict : undefined;
}

/** When the Job's time is over, if it has a limit. A suspended Job has all the time. */
export function deadlineOf({ spec }: JobObject, startedAt: Instant | undefined): Instant | undefined {
  if (spec.activeDeadlineSeconds === undefined || startedAt === undefined || spec.suspend === true) return undefined;
  return startedAt + spec.activeDeadlineSeconds * 1000;
}

/** Asked before the successes, as Kubernetes does: a Job that is late has failed, also when its last pod succeeds then. */
function deadlineVerdict(job: JobObject, startedAt: Instant | undefined, now: Instant): Verdict | undefined {
  const deadline = deadlineOf(job, startedAt);
  if (deadline === undefined || now < deadline) return undefined;
  return failed("DeadlineExceeded", "Job was active longer than specified deadline");
}

/** Indexes that were given up end the Job when they are too many, else when all others are settled. */
function indexVerdict(job: JobObject, { failedIndexes, completedIndexes }: Tally): Verdict | undefined {
  if (failedIndexes.size === 0) return undefined;
  const { maxFailedIndexes, completions = 0 } = job.spec;
  if (maxFailedIndexes !== undefined && failedIndexes.size > maxFailedIndexes) {
    return failed("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes");
  }
  const settled = new Set([...failedIndexes, ...completedIndexes]).size;
  return settled < completions ? undefined : failed("FailedIndexes", "Job has failed indexes");
}

/** Asked of a suspended Job too: what is done need not be resumed. */
function successVerdict(job: JobObject, { succeeded, completedIndexes, active }: Tally): Verdict | undefined {
  const rule = isIndexed(job) ? metSuccessRule(job.spec, completedIndexes) : undefined;
  if (rule !== undefined)
    return { type: "Complete", reason: "SuccessPolicy", message: `Matched rules at index ${rule}` };
  const { completions } = job.spec;
  // A work queue is empty when one worker says so and the others have ended.
  const isReached = completions === undefined ? succeeded > 0 && active.length === 0 : succeeded >= completions;
  if (!isReached) return undefined;
  return { type: "Complete", reason: "CompletionsReached", message: "Reached expected number of succeeded pods" };
}

/** When a Job was first worked on, or resumed, as its status says; undefined before that is written. */
export const startOf = ({ status }: JobObject): Instant | undefined => parseInstant(status?.startTime ?? "");
