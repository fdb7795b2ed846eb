import { isTerminating } from "#kernel/workloads/pod-types.ts";
import { type Instant, type Millis, backoffDelay } from "#lib/base/index.ts";
import type { JobObject } from "../job-types.ts";
import { earlierFailures, endOf, indexOf, isTracked, type JobPod, type NewPod } from "./job-pod.ts";
import { isIndexed, type Tally } from "./tally.ts";

// How many pods a Job is short of: at most `parallelism` at a time and `completions` in total, with a growing pause
// after failures.

export interface Demand {
  readonly create: readonly NewPod[];
  readonly surplus: readonly JobPod[];
  readonly retryAt?: Instant;
  readonly awaited: ReadonlySet<JobPod>;
}

const firstDelay: Millis = 10_000;
const longestDelay: Millis = 600_000;
export const mostCreatedAtOnce = 500;

export const retryDelay = (failures: number): Millis =>
  backoffDelay(failures, { first: firstDelay, longest: longestDelay });

export function demandOf(job: JobObject, pods: readonly JobPod[], tally: Tally, now: Instant): Demand {
  const demand = isIndexed(job) ? indexedDemand(job, pods, tally, now) : plainDemand(job, pods, tally, now);
  return { ...demand, awaited: awaitingReplacement(job, pods, tally) };
}

type Change = Omit<Demand, "awaited">;

const replacesOnlyFailed = ({ spec }: JobObject): boolean => spec.podReplacementPolicy === "Failed";

/** Without `completions` the Job is a work queue: after one success no pods are added. */
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

/** Only failures since the last success count. */
function nextTry(pods: readonly JobPod[]): Instant {
  let lastSuccess = 0;
  for (const pod of pods) if (pod.status?.phase === "Succeeded") lastSuccess = Math.max(lastSuccess, endOf(pod));
  const failures = pods.filter((pod) => hasFailed(pod) && endOf(pod) > lastSuccess).map(endOf);
  return failures.length === 0 ? 0 : Math.max(...failures) + retryDelay(failures.length);
}

/** A pod that was released before it was deleted was surplus, not failed. */
const hasFailed = (pod: JobPod): boolean => pod.status?.phase === "Failed" && (isTracked(pod) || !isTerminating(pod));

/** Those that are not running first, then the youngest. */
function leastUseful(active: readonly JobPod[]): readonly JobPod[] {
  const rank = ({ status }: JobPod) => (status?.phase === "Running" ? 1 : 0);
  const born = ({ metadata }: JobPod) => metadata.creationTimestamp;
  return [...active].sort((a, b) => rank(a) - rank(b) || (born(a) < born(b) ? 1 : -1));
}

/** One pod for each of the lowest open indexes. With a limit per index each index has its own pause. */
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

/** The failed pod of each index with the most failures before it. Ended deleted pods count at once. */
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

/** An index's last failed pod alone knows how often it failed: it is kept until another carries the number on. */
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
