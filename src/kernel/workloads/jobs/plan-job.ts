import { wakeAtFirst } from "../workload-controller.ts";
import { isActive, isReady } from "#kernel/workloads/pod-types.ts";
import { formatTime, type Instant, jsonEquals, parseInstant } from "#lib/base/index.ts";
import { type Condition, conditionOf, isTrue, type Waking, withCondition } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { JobCondition, JobObject, JobStatus } from "../job-types.ts";
import { isTracked, type JobPod, type NewPod } from "./job-pod.ts";
import { awaitingReplacement, type Demand, demandOf } from "./pod-demand.ts";
import { indexFields, isIndexed, type Tally, tallyOf } from "./tally.ts";
import { announcement, deadlineOf, startOf, type Verdict, verdictOn } from "./verdict.ts";

// Where a Job is, and what its plan then does:
//
//   deleted               lets its pods go; whoever collects garbage deletes them
//   Complete, Failed      ends what still runs, lets everything go, and goes itself when its time to live is over
//   a verdict was reached announces it by FailureTarget or SuccessCriteriaMet, then ends what still runs
//   suspended             ends what runs, which is nobody's failure; the time of the deadline begins anew with the resumption
//   otherwise             creates the pods that are missing and ends those that are too many

/** What a Job needs now. May be carried out again after a crash at any point. */
export interface JobPlan extends Waking {
  readonly create: readonly NewPod[];
  /** To be deleted as failures of the Job. */
  readonly remove: readonly JobPod[];
  /** To be released, then deleted: surplus pods whose ends do not count. */
  readonly drop: readonly JobPod[];
  readonly status: JobStatus;
  /** The new status is written without waiting for other changes. */
  readonly isUrgent: boolean;
  /** Pods whose end is in the stored status. */
  readonly release: readonly JobPod[];
  readonly expires: boolean;
}

export const isOver = ({ status }: JobObject): boolean =>
  isTrue(status?.conditions, "Complete") || isTrue(status?.conditions, "Failed");

const nothing = { create: [], remove: [], drop: [], release: [], isUrgent: false, expires: false } as const;

/**
 * Decides what to do for a Job. Pure. `pods` are all pods it controls, counted or not.
 *
 * Exactly-once counting: an ended pod is first listed in `uncountedTerminatedPods`, then loses its finalizer, then
 * moves from the list to the counters. The write that ends a Job takes the short way: counters and condition at once,
 * finalizers afterwards, because nothing is ever counted for a Job that is over.
 */
export function planJob(job: Stored<JobObject>, pods: readonly JobPod[], now: Instant): JobPlan {
  const status = job.status ?? {};
  if (job.metadata.deletionTimestamp !== undefined) return { ...nothing, status, release: pods.filter(isTracked) };
  if (isOver(job)) return afterEnd(job, pods, now);
  const startedAt = startOf(job) ?? firstStart(job, pods, now);
  const early = tallyOf(job, pods, false);
  const verdict = verdictOn(job, early, startedAt, now);
  if (verdict !== undefined) return towardsEnd(job, pods, verdict, startedAt, now);
  return job.spec.suspend === true
    ? suspended(job, pods, early, now)
    : goingOn(job, pods, early, startedAt ?? now, now);
}

function afterEnd(job: Stored<JobObject>, pods: readonly JobPod[], now: Instant): JobPlan {
  const status = job.status ?? {};
  const plan = { ...nothing, status, remove: pods.filter(isActive), release: pods.filter(isTracked) };
  const { ttlSecondsAfterFinished } = job.spec;
  if (ttlSecondsAfterFinished === undefined) return plan;
  const last = conditionOf(status.conditions, "Complete") ?? conditionOf(status.conditions, "Failed");
  const endedAt = parseInstant(status.completionTime ?? last?.lastTransitionTime ?? "") ?? now;
  const expiresAt = endedAt + ttlSecondsAfterFinished * 1000;
  return expiresAt <= now ? { ...plan, expires: true } : { ...plan, wakeAt: expiresAt };
}

/** After a crash that lost the start, the first pod dates it; a resumed Job starts anew. */
function firstStart(job: Stored<JobObject>, pods: readonly JobPod[], now: Instant): Instant | undefined {
  if (job.spec.suspend === true) return undefined;
  if (conditionOf(job.status?.conditions, "Suspended") !== undefined) return now;
  const times = pods.map(({ metadata }) => parseInstant(metadata.creationTimestamp) ?? now);
  return Math.min(now, ...times);
}

/** The verdict is announced before pods are ended: their ends would count and might lead to another verdict. */
function towardsEnd(
  job: Stored<JobObject>,
  pods: readonly JobPod[],
  verdict: Verdict,
  startedAt: Instant | undefined,
  now: Instant,
): JobPlan {
  const tally = tallyOf(job, pods, verdict.type === "Failed");
  const announcing = announcement(verdict);
  const { reason, message } = verdict;
  const before = job.status?.conditions ?? [];
  const conditions = setCondition(before, { type: announcing, status: "True", reason, message }, now);
  const remaining = tally.active.length + tally.terminating.length;
  if (remaining === 0)
    return { ...nothing, status: finalStatus(job, tally, verdict, conditions, startedAt, now), isUrgent: true };
  const status = { ...countedStatus(job, tally, startedAt), conditions };
  const plan = { ...planFor(job, tally, pods, status), isUrgent: !jsonEquals(conditions, before) };
  if (!isTrue(before, announcing)) return plan;
  return verdict.type === "Failed" ? { ...plan, remove: tally.active } : { ...plan, drop: tally.active };
}

/** The status that ends a Job, written when no process runs any more, for clients that wait for it. */
function finalStatus(
  job: JobObject,
  tally: Tally,
  verdict: Verdict,
  announced: readonly JobCondition[],
  startedAt: Instant | undefined,
  now: Instant,
): JobStatus {
  const { type, reason, message } = verdict;
  const {
    active: _a,
    ready: _r,
    terminating: _t,
    uncountedTerminatedPods: _u,
    completedIndexes: _c,
    ...kept
  } = job.status ?? {};
  // A suspended Job has lost its start, but a finished Job must have one.
  const startTime = kept.startTime ?? formatTime(startedAt ?? now);
  // Kubernetes refuses an end before the start, which a clock that was set back would produce.
  const completionTime = formatTime(Math.max(now, parseInstant(startTime) ?? now));
  return {
    ...kept,
    startTime,
    ...(tally.succeeded === 0 ? {} : { succeeded: tally.succeeded }),
    ...(tally.failed === 0 ? {} : { failed: tally.failed }),
    ready: 0,
    terminating: 0,
    uncountedTerminatedPods: {},
    ...indexFields(job, tally),
    conditions: setCondition(announced, { type, status: "True", reason, message }, now),
    ...(type === "Complete" ? { completionTime } : {}),
  };
}

/** `startTime` is removed: the deadline of a resumed Job starts anew, as in Kubernetes. */
function suspended(job: Stored<JobObject>, pods: readonly JobPod[], tally: Tally, now: Instant): JobPlan {
  const condition = { type: "Suspended", status: "True", reason: "JobSuspended", message: "Job suspended" } as const;
  const conditions = setCondition(job.status?.conditions ?? [], condition, now);
  const { startTime: _stopped, ...counted } = countedStatus(job, tally, undefined);
  const status = { ...counted, conditions };
  const isUrgent = !jsonEquals(conditions, job.status?.conditions) || job.status?.startTime !== undefined;
  return { ...planFor(job, tally, pods, status, awaitingReplacement(job, pods, tally)), drop: tally.active, isUrgent };
}

function goingOn(
  job: Stored<JobObject>,
  pods: readonly JobPod[],
  tally: Tally,
  startedAt: Instant,
  now: Instant,
): JobPlan {
  const demand: Demand = demandOf(job, pods, tally, now);
  const before = job.status?.conditions ?? [];
  const resumed = { type: "Suspended", status: "False", reason: "JobResumed", message: "Job resumed" } as const;
  const conditions = conditionOf(before, "Suspended") === undefined ? before : setCondition(before, resumed, now);
  const status = { ...countedStatus(job, tally, startedAt), ...(conditions.length === 0 ? {} : { conditions }) };
  const deadline = deadlineOf(job, startedAt);
  return {
    ...planFor(job, tally, pods, status, demand.awaited),
    create: demand.create,
    drop: demand.surplus,
    // The start of a deadline must not be lost.
    isUrgent: conditions !== before || (deadline !== undefined && job.status?.startTime === undefined),
    ...wakeAtFirst(deadline, demand.retryAt),
  };
}

/** Like `withCondition` of the kit, with `lastProbeTime`. */
function setCondition(
  conditions: readonly JobCondition[],
  wanted: Omit<Condition, "lastTransitionTime">,
  now: Instant,
): readonly JobCondition[] {
  const next = withCondition(conditions, wanted, now);
  if (next === conditions) return conditions;
  return next.map((one) => (one.type === wanted.type ? { ...one, lastProbeTime: formatTime(now) } : one));
}

function countedStatus(job: JobObject, tally: Tally, startedAt: Instant | undefined): JobStatus {
  const status = job.status ?? {};
  const { succeeded, failed } = tally.uncounted;
  const counted = {
    succeeded: isIndexed(job) ? tally.succeeded : (status.succeeded ?? 0) + tally.settled.succeeded,
    failed: (status.failed ?? 0) + tally.settled.failed,
  };
  const { active: _a, uncountedTerminatedPods: _u, completedIndexes: _c, ...kept } = status;
  return {
    ...kept,
    ...(startedAt === undefined ? {} : { startTime: kept.startTime ?? formatTime(startedAt) }),
    ...(tally.active.length === 0 ? {} : { active: tally.active.length }),
    ready: tally.active.filter(isReady).length,
    terminating: tally.terminating.length,
    ...(counted.succeeded === 0 ? {} : { succeeded: counted.succeeded }),
    ...(counted.failed === 0 ? {} : { failed: counted.failed }),
    ...indexFields(job, tally),
    uncountedTerminatedPods: {
      ...(succeeded.length === 0 ? {} : { succeeded }),
      ...(failed.length === 0 ? {} : { failed }),
    },
  };
}

/** Releases what the stored status holds, except `awaited`, and pods that do not count. */
function planFor(
  job: JobObject,
  tally: Tally,
  pods: readonly JobPod[],
  status: JobStatus,
  awaited: ReadonlySet<JobPod> = new Set(),
): JobPlan {
  const stored = job.status?.uncountedTerminatedPods ?? {};
  const written = new Set([...(stored.succeeded ?? []), ...(stored.failed ?? [])]);
  const release = pods.filter((pod) => isTracked(pod) && written.has(pod.metadata.uid) && !awaited.has(pod));
  return { ...nothing, status, release: [...release, ...tally.discarded] };
}
