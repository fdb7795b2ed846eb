import type { Instant, Millis } from "#lib/base/index.ts";
import type { JobObject } from "../job-types.ts";
import { earlierFailures, endOf, indexOf, isTerminating, isTracked, type JobPod, type NewPod } from "./job-pod.ts";
import { isIndexed, type Tally } from "./tally.ts";

// How many pods a Job is short of. Both kinds of Jobs obey the same three limits: `parallelism` at one time, `completions` in all,
// and a pause after failures that grows with each and ends with a success.

/** Pods to create now, pods to end because they are too many, and when more may be created. */
export interface Demand {
  readonly create: readonly NewPod[];
  readonly surplus: readonly JobPod[];
  /** The end of the back-off that holds pods back; absent when none does. */
  readonly retryAt?: Instant;
  /** Failed pods that must not be let go yet; see `awaitingReplacement`. */
  readonly awaited: ReadonlySet<JobPod>;
}

const firstDelay: Millis = 10_000;
const longestDelay: Millis = 600_000;

/** No more pods than this are created in one pass. */
export const mostCreatedAtOnce = 500;

/** Pause after the `failures`-th failure in a row: none, 10 s, 20 s, 40 s … 10 min, as Kubernetes has it. */
export const retryDelay = (failures: number): Millis =>
  failures === 0 ? 0 : Math.min(longestDelay, firstDelay * 2 ** Math.min(failures - 1, 10));

/** How many pods a Job that goes on needs, and which. Pure. */
export function demandOf(job: JobObject, pods: readonly JobPod[], tally: Tally, now: Instant): Demand {
  const demand = isIndexed(job) ? indexedDemand(job, pods, tally, now) : plainDemand(job, pods, tally, now);
  return { ...demand, awaited: awaitingReplacement(job, pods, tally) };
}

/** What of a Demand the two kinds of Jobs decide in their own ways. */
type Change = Omit<Demand, "awaited">;

/** A deleted pod keeps its place until it has ended, so that two never work on the same thing. */
const replacesOnlyFailed = ({ spec }: JobObject): boolean => spec.podReplacementPolicy === "Failed";

/**
 * `parallelism` pods, and no more than successes are missing. Without `completions` the Job is a work queue: one success says that it
 * is empty, and from then on no pod is added to those that are still at work.
 */
function plainDemand(job: JobObject, pods: readonly JobPod[], tally: Tally, now: Instant): Change {
  const { parallelism = 1, completions } = job.spec;
  const { active, succeeded } = tally;
  const open = completions === undefined ? (succeeded > 0 ? active.length : parallelism) : completions - succeeded;
  const wanted = Math.max(0, Math.min(open, parallelism));
  if (active.length > wanted) return { create: [], surplus: leastUseful(active).slice(0, active.length - wanted) };
  const missing = wanted - active.length - (replacesOnlyFailed(job) ? tally.terminating.length : 0);
  if (missing <= 0) return { create: [], surplus: [] };
  const retryAt = nextTry(pods);
  if (retryAt > now) return { create: [], surplus: [], retryAt };
  return { create: Array.from({ length: Math.min(missing, mostCreatedAtOnce) }, () => ({})), surplus: [] };
}

/** Failures since the last success hold back the next pods. */
function nextTry(pods: readonly JobPod[]): Instant {
  let lastSuccess = 0;
  for (const pod of pods) if (pod.status?.phase === "Succeeded") lastSuccess = Math.max(lastSuccess, endOf(pod));
  const failures = pods.filter((pod) => hasFailed(pod) && endOf(pod) > lastSuccess).map(endOf);
  return failures.length === 0 ? 0 : Math.max(...failures) + retryDelay(failures.length);
}

/** A pod that was let go before it was deleted was too many, and its end is nobody's failure. */
const hasFailed = (pod: JobPod): boolean => pod.status?.phase === "Failed" && (isTracked(pod) || !isTerminating(pod));

/** Those that have done least go first: not yet running, then the youngest. */
function leastUseful(active: readonly JobPod[]): readonly JobPod[] {
  const rank = ({ status }: JobPod) => (status?.phase === "Running" ? 1 : 0);
  const born = ({ metadata }: JobPod) => metadata.creationTimestamp;
  return [...active].sort((a, b) => rank(a) - rank(b) || (born(a) < born(b) ? 1 : -1));
}

/** One pod for each of the lowest indexes that are neither completed nor given up. With a limit per index each has its own back-off. */
function indexedDemand(job: JobObject, pods: readonly JobPod[], tally: Tally, now: Instant): Change {
  const { parallelism = 1, completions = 0, backoffLimitPerIndex } = job.spec;
  const busy = new Map<number, JobPod>();
  const surplus: JobPod[] = [];
  for (const pod of tally.active) {
    const index = indexOf(pod);
    if (index === undefined || index >= completions || busy.has(index) || isSettled(tally, index)) surplus.push(pod);
    else busy.set(index, pod);
  }
  const excess = busy.size - parallelism;
  // Low indexes are kept.
  if (excess > 0)
    surplus.push(
      ...[...busy]
        .sort(([a], [b]) => b - a)
        .slice(0, excess)
        .map(([, pod]) => pod),
    );
  const terminating = replacesOnlyFailed(job) ? tally.terminating : [];
  const ending = new Set(terminating.map(indexOf));
  const room = Math.min(-excess - terminating.length, mostCreatedAtOnce);
  const lastFailures = lastFailureByIndex(pods);
  const common = backoffLimitPerIndex === undefined ? nextTry(pods) : 0;
  const create: NewPod[] = [];
  let retryAt: Instant | undefined;
  for (let index = 0; index < completions && create.length < room; index++) {
    if (busy.has(index) || ending.has(index) || isSettled(tally, index)) continue;
    const last = lastFailures.get(index);
    const failures = last === undefined ? 0 : earlierFailures(last) + 1;
    const at = last === undefined || backoffLimitPerIndex === undefined ? common : endOf(last) + retryDelay(failures);
    if (at > now) retryAt = Math.min(at, retryAt ?? at);
    else create.push({ index, ...(backoffLimitPerIndex === undefined ? {} : { failures }) });
  }
  return { create, surplus, ...(retryAt === undefined ? {} : { retryAt }) };
}

const isSettled = ({ completedIndexes, failedIndexes }: Tally, index: number): boolean =>
  completedIndexes.has(index) || failedIndexes.has(index);

/**
 * Of each index the failed pod with the most failures before it. A deleted pod counts as soon as it is deleted, if its end is one
 * that counts at all.
 */
function lastFailureByIndex(pods: readonly JobPod[]): ReadonlyMap<number, JobPod> {
  const last = new Map<number, JobPod>();
  for (const pod of pods) {
    const index = indexOf(pod);
    const isDeleted = isTracked(pod) && isTerminating(pod) && pod.status?.phase !== "Succeeded";
    if (index === undefined || !(hasFailed(pod) || isDeleted)) continue;
    const known = last.get(index);
    if (known === undefined || earlierFailures(pod) >= earlierFailures(known)) last.set(index, pod);
  }
  return last;
}

/**
 * With a limit per index only the last failed pod of an index knows how often the index has failed: it is kept, whoever deletes it,
 * until another pod carries its number on.
 */
export function awaitingReplacement(job: JobObject, pods: readonly JobPod[], tally: Tally): ReadonlySet<JobPod> {
  if (!isIndexed(job) || job.spec.backoffLimitPerIndex === undefined) return new Set();
  const open = new Map([...lastFailureByIndex(pods)].filter(([index]) => !isSettled(tally, index)));
  for (const pod of pods) {
    const index = indexOf(pod) ?? -1;
    const last = open.get(index);
    if (last !== undefined && earlierFailures(pod) > earlierFailures(last)) open.delete(index);
  }
  return new Set(open.values());
}
