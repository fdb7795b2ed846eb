import { isTrue } from "#kernel/kit/index.ts";
import type { JobObject, JobStatus } from "../job-types.ts";
import { refusedCondition, isActive, isTerminating, isFinished } from "../pod-types.ts";
import { formatIndexes, parseIndexes } from "./index-set.ts";
import { earlierFailures, endOf, indexOf, isTracked, type JobPod } from "./job-pod.ts";
import { judgeFailure } from "./policies.ts";

/** A Job's pods, each counted exactly once, whether or not it is in the stored counters. */
export interface Tally {
  readonly active: readonly JobPod[];
  readonly terminating: readonly JobPod[];
  /** Totals, including what the stored counters lack. */
  readonly succeeded: number;
  readonly failed: number;
  readonly completedIndexes: ReadonlySet<number>;
  readonly failedIndexes: ReadonlySet<number>;
  /** How many uids of the stored list are no longer held by the finalizer. */
  readonly settled: { readonly succeeded: number; readonly failed: number };
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  /** Held pods that do not count and may be released. */
  readonly discarded: readonly JobPod[];
  readonly fatal: { readonly reason: string; readonly message: string } | undefined;
  /** The reason that the last failed pod gives for itself (deadline, full disk), which no exit code tells. */
  readonly lastWords: string | undefined;
}

export const isIndexed = ({ spec }: JobObject): boolean => spec.completionMode === "Indexed";

/**
 * Counts a Job's pods against what its status has counted. Pure; linear in the pods. `isFailing`: the Job is to fail,
 * from when on a deleted pod is a failed one, whatever the replacement policy.
 *
 * A pod is in one of four places, in this order, and in each it is part of `succeeded` or `failed` exactly once:
 *
 *     held, ended, not listed     -> to be listed            count.succeeded, count.failed
 *     held, ended, listed         -> may be let go           uncounted
 *     let go, listed              -> counters take it        settled
 *     let go, not listed          -> the counters have it
 */
export function tallyOf(job: JobObject, pods: readonly JobPod[], isFailing: boolean): Tally {
  const status = job.status ?? {};
  const held = new Map(pods.filter(isTracked).map((pod) => [pod.metadata.uid, pod]));
  const known = status.uncountedTerminatedPods ?? {};
  const count = new Count(job);
  for (const pod of pods) if (isTracked(pod)) count.add(pod, isFailing);
  const stillHeld = (uids: readonly string[] = []) => uids.filter((uid) => held.has(uid));
  const merged = (before: readonly string[], now: readonly string[]) => [...new Set([...before, ...now])];
  const settled = {
    succeeded: (known.succeeded?.length ?? 0) - stillHeld(known.succeeded).length,
    failed: (known.failed?.length ?? 0) - stillHeld(known.failed).length,
  };
  const listed = { succeeded: stillHeld(known.succeeded), failed: stillHeld(known.failed) };
  const all = {
    succeeded: merged(listed.succeeded, count.succeeded),
    failed: merged(listed.failed, count.failed),
  };
  const stored = (text: string | undefined) => parseIndexes(text, job.spec.completions);
  const completedIndexes = new Set([...stored(status.completedIndexes), ...count.completed]);
  return {
    active: pods.filter(isActive),
    terminating: pods.filter((pod) => isTerminating(pod) && !isFinished(pod)),
    succeeded: isIndexed(job)
      ? completedIndexes.size
      : (status.succeeded ?? 0) + settled.succeeded + all.succeeded.length,
    failed: (status.failed ?? 0) + settled.failed + all.failed.length,
    completedIndexes,
    failedIndexes: new Set([...stored(status.failedIndexes), ...count.lost]),
    settled,
    uncounted: withinRoom(listed, all),
    discarded: count.discarded,
    fatal: count.fatal,
    lastWords: lastWordsOf(pods),
  };
}

/** Kubernetes' bound, so that a status does not grow with the number of pods. */
const mostUncounted = 500;

/** Listed pods stay, because they are counted by being listed; others are added as far as there is room. */
function withinRoom(listed: Tally["uncounted"], all: Tally["uncounted"]): Tally["uncounted"] {
  const room = Math.max(0, mostUncounted - listed.succeeded.length - listed.failed.length);
  const succeeded = all.succeeded.slice(0, listed.succeeded.length + room);
  const left = room - (succeeded.length - listed.succeeded.length);
  return { succeeded, failed: all.failed.slice(0, listed.failed.length + left) };
}

function lastWordsOf(pods: readonly JobPod[]): string | undefined {
  let last: JobPod | undefined;
  for (const pod of pods) {
    if (pod.status?.phase !== "Failed" || pod.status.reason === undefined) continue;
    if (last === undefined || endOf(pod) >= endOf(last)) last = pod;
  }
  if (last === undefined) return undefined;
  const { reason = "", message = "" } = last.status ?? {};
  return `pod ${last.metadata.name}: ${message === "" ? reason : `${reason}: ${message}`}`;
}

class Count {
  readonly succeeded: string[] = [];
  readonly failed: string[] = [];
  readonly completed = new Set<number>();
  readonly lost = new Set<number>();
  readonly discarded: JobPod[] = [];
  fatal: Tally["fatal"];
  readonly #job: JobObject;
  readonly #stored: { readonly succeeded: ReadonlySet<string>; readonly failed: ReadonlySet<string> };

  constructor(job: JobObject) {
    this.#job = job;
    const { succeeded, failed } = job.status?.uncountedTerminatedPods ?? {};
    this.#stored = { succeeded: new Set(succeeded), failed: new Set(failed) };
  }

  add(pod: JobPod, isFailing: boolean): void {
    const { uid } = pod.metadata;
    if (this.#stored.succeeded.has(uid) || this.#stored.failed.has(uid)) {
      // Listed before; the list does not hold indexes.
      if (this.#stored.succeeded.has(uid)) this.#complete(pod);
      return;
    }
    if (isIndexed(this.#job) && !this.#isWanted(pod)) {
      if (isFinished(pod) || isTerminating(pod)) this.discarded.push(pod);
    } else if (pod.status?.phase === "Succeeded") this.#succeed(pod);
    else if (this.#isFailed(pod, isFailing)) this.#fail(pod);
  }

  /** `completions` may shrink: pods of higher indexes do not count. */
  #isWanted(pod: JobPod): boolean {
    const index = indexOf(pod);
    return index !== undefined && index < (this.#job.spec.completions ?? 0);
  }

  #isFailed(pod: JobPod, isFailing: boolean): boolean {
    if (pod.status?.phase === "Failed") return true;
    if (!isTerminating(pod)) return false;
    return isFailing || this.#job.spec.podReplacementPolicy !== "Failed";
  }

  #succeed(pod: JobPod): void {
    this.succeeded.push(pod.metadata.uid);
    this.#complete(pod);
  }

  #complete(pod: JobPod): void {
    const index = indexOf(pod);
    if (index !== undefined) this.completed.add(index);
  }

  #fail(pod: JobPod): void {
    const { action, message } = judgeFailure(this.#job.spec, pod);
    if (action === "Ignore") {
      this.discarded.push(pod);
      return;
    }
    this.failed.push(pod.metadata.uid);
    if (action === "FailJob") this.fatal ??= { reason: "PodFailurePolicy", message };
    if (isTrue(pod.status?.conditions, refusedCondition)) {
      this.fatal ??= { reason: "PodRefused", message: `Pod ${pod.metadata.name}: ${pod.status?.message ?? "refused"}` };
    }
    this.#failIndex(pod, action === "FailIndex");
  }

  #failIndex(pod: JobPod, atOnce: boolean): void {
    const limit = this.#job.spec.backoffLimitPerIndex;
    const index = indexOf(pod);
    if (limit === undefined || index === undefined) return;
    if (atOnce || earlierFailures(pod) >= limit) this.lost.add(index);
  }
}

export function indexFields(job: JobObject, tally: Tally): Pick<JobStatus, "completedIndexes" | "failedIndexes"> {
  if (!isIndexed(job)) return {};
  const completed = formatIndexes(tally.completedIndexes);
  return {
    ...(completed === "" ? {} : { completedIndexes: completed }),
    ...(job.spec.backoffLimitPerIndex === undefined ? {} : { failedIndexes: formatIndexes(tally.failedIndexes) }),
  };
}
