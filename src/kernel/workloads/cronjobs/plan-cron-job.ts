import { formatTime, type Instant, parseInstant, type Result } from "#lib/base/index.ts";
import { isTrue, type Waking } from "#kernel/kit/index.ts";
import type { ObjectReference, Stored } from "#kernel/model/index.ts";
import { nextTime, parseCron, timeZone } from "#lib/text/index.ts";
import { type CronJobObject, type CronJobStatus, scheduledAnnotation } from "../cron-job-types.ts";
import type { JobObject } from "../job-types.ts";
import { isOver } from "../jobs/plan-job.ts";
import { jobNameFor } from "./scheduled-job.ts";
import { type Calendar, missedTimes } from "./missed-times.ts";

export type CronsJob = Stored<JobObject>;

export interface Note {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly text: string;
  /** The scheduled time it is about: recorded once for each. Absent: recorded once for each text. */
  readonly about?: Instant;
}

/** What a CronJob needs now. May be carried out again after a crash: each scheduled time has one Job name. */
export interface CronJobPlan extends Waking {
  readonly remove: readonly CronsJob[];
  /** The scheduled time for which to create a Job now. */
  readonly create?: Instant;
  readonly notes: readonly Note[];
  readonly status: CronJobStatus;
}

/**
 * Decides what to do for a CronJob. Pure. `jobs` are those it controls. Only the latest of several missed times is
 * started, as in Kubernetes; a start that Forbid delays happens when the running Job ends, unless a later time or the
 * deadline has passed.
 */
export function planCronJob(cron: Stored<CronJobObject>, jobs: readonly CronsJob[], now: Instant): CronJobPlan {
  const old = superfluous(cron, jobs);
  const status = statusOf(cron, jobs);
  const seen = endings(cron, jobs);
  const still = { remove: old, notes: seen, status };
  if (cron.metadata.deletionTimestamp !== undefined) return still;
  const calendar = calendarOf(cron);
  if (!calendar.ok) return { ...still, notes: [...seen, calendar.error] };
  if (cron.spec.suspend === true) return still;
  const { schedule, zone } = calendar.value;
  const wakeAt = nextTime(schedule, now, zone);
  if (wakeAt === undefined) return { ...still, notes: [...seen, neverFires(cron)] };
  const start = startOf(cron, jobs, calendar.value, now);
  return {
    remove: [...old, ...start.replaced],
    notes: [...seen, ...start.notes],
    status,
    ...(start.at === undefined ? {} : { create: start.at }),
    wakeAt,
  };
}

/** The server accepts schedules of days that do not exist: `0 0 30 2 *`. */
const neverFires = ({ spec }: CronJobObject): Note => ({
  type: "Warning",
  reason: "InvalidSchedule",
  text: `invalid schedule: ${spec.schedule} : it never fires`,
});

/** The server has refused unreadable schedules, but the machine may not know the time zone any more. */
function calendarOf({ spec }: CronJobObject): Result<Calendar, Note> {
  const zone = timeZone(spec.timeZone);
  if (!zone.ok) return { ok: false, error: { type: "Warning", reason: "UnknownTimeZone", text: zone.error } };
  const schedule = parseCron(spec.schedule);
  if (schedule.ok) return { ok: true, value: { schedule: schedule.value, zone: zone.value } };
  return { ok: false, error: { type: "Warning", reason: "UnparseableSchedule", text: schedule.error } };
}

interface Start {
  readonly at?: Instant;
  readonly replaced: readonly CronsJob[];
  readonly notes: readonly Note[];
}

function startOf(cron: Stored<CronJobObject>, jobs: readonly CronsJob[], calendar: Calendar, now: Instant): Start {
  const { concurrencyPolicy = "Allow" } = cron.spec;
  const { latest, isMany } = missedTimes(calendar, begin(cron, now), now);
  const nothing: Start = { replaced: [], notes: [] };
  if (latest === undefined) return nothing;
  const notes: readonly Note[] = isMany ? [{ ...tooMany, about: latest }] : [];
  // Created before, though the status may not say so yet.
  if (jobs.some(({ metadata }) => metadata.name === jobNameFor(cron, latest))) return nothing;
  const running = jobs.filter((job) => isScheduled(job) && !isOver(job));
  if (running.length > 0 && concurrencyPolicy === "Forbid")
    return { replaced: [], notes: [...notes, { ...forbidden, about: latest }] };
  const replaced = concurrencyPolicy === "Replace" ? running.filter(isLive) : [];
  return { at: latest, replaced, notes };
}

const tooMany: Note = {
  type: "Warning",
  reason: "TooManyMissedTimes",
  text: "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
};
const forbidden: Note = {
  type: "Normal",
  reason: "JobAlreadyActive",
  text: "Not starting job because prior execution is running and concurrency policy is Forbid",
};

function begin({ metadata, spec, status }: Stored<CronJobObject>, now: Instant): Instant {
  const since = instant(status?.lastScheduleTime) ?? instant(metadata.creationTimestamp) ?? now;
  const { startingDeadlineSeconds } = spec;
  return startingDeadlineSeconds === undefined ? since : Math.max(since, now - startingDeadlineSeconds * 1000);
}

const instant = (text: string | undefined): Instant | undefined =>
  text === undefined ? undefined : parseInstant(text);
const isLive = ({ metadata }: CronsJob): boolean => metadata.deletionTimestamp === undefined;
/** Not created by `kubectl create job --from`. */
const isScheduled = ({ metadata }: CronsJob): boolean => metadata.annotations?.[scheduledAnnotation] !== undefined;

/** Derived from the Jobs, to note those of before a crash. Existing references are kept as they are. */
function statusOf({ status = {} }: CronJobObject, jobs: readonly CronsJob[]): CronJobStatus {
  const known = new Map((status.active ?? []).map((reference) => [reference.uid, reference]));
  const active = jobs
    .filter((job) => isScheduled(job) && !isOver(job))
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .map((job) => known.get(job.metadata.uid) ?? referenceTo(job));
  const lastSuccessfulTime = latestOf([
    status.lastSuccessfulTime,
    ...jobs.filter(hasSucceeded).map((job) => job.status?.completionTime),
  ]);
  const lastScheduleTime = latestOf([status.lastScheduleTime, ...jobs.map(scheduledAt)]);
  return {
    ...(active.length === 0 ? {} : { active }),
    ...(lastScheduleTime === undefined ? {} : { lastScheduleTime }),
    ...(lastSuccessfulTime === undefined ? {} : { lastSuccessfulTime }),
  };
}

function scheduledAt({ metadata }: CronsJob): string | undefined {
  const at = instant(metadata.annotations?.[scheduledAnnotation]);
  return at === undefined ? undefined : formatTime(at);
}

const hasSucceeded = ({ status }: CronsJob): boolean => isTrue(status?.conditions, "Complete");

/** Compared as times: offsets differ. */
const latestOf = (times: readonly (string | undefined)[]): string | undefined =>
  times.filter((time) => time !== undefined).toSorted((a, b) => (instant(b) ?? 0) - (instant(a) ?? 0))[0];

function referenceTo({ apiVersion, kind, metadata }: CronsJob): ObjectReference {
  const { name, namespace, uid } = metadata;
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }), uid };
}

function endings({ status }: CronJobObject, jobs: readonly CronsJob[]): readonly Note[] {
  const byUid = new Map(jobs.map((job) => [job.metadata.uid, job]));
  return (status?.active ?? []).flatMap(({ uid = "", name = "" }): readonly Note[] => {
    const job = byUid.get(uid);
    if (job === undefined) return [{ type: "Normal", reason: "MissingJob", text: `Active job went missing: ${name}` }];
    if (!isOver(job)) return [];
    const condition = hasSucceeded(job) ? "Complete" : "Failed";
    const text = `Saw completed job: ${name}, condition: ${condition}`;
    return [{ type: "Normal", reason: "SawCompletedJob", text }];
  });
}

/** Ended Jobs beyond the limits, oldest first. Jobs created by hand count too, as in Kubernetes. */
function superfluous({ spec }: CronJobObject, jobs: readonly CronsJob[]): readonly CronsJob[] {
  const { successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1 } = spec;
  const ended = jobs.filter((job) => isOver(job) && isLive(job)).toSorted(byStart);
  const excess = (of: readonly CronsJob[], kept: number) => of.slice(0, Math.max(0, of.length - kept));
  return [
    ...excess(ended.filter(hasSucceeded), successfulJobsHistoryLimit),
    ...excess(
      ended.filter((job) => !hasSucceeded(job)),
      failedJobsHistoryLimit,
    ),
  ];
}

/** Oldest first, then by name. */
function byStart(a: CronsJob, b: CronsJob): number {
  const startOfJob = (job: CronsJob) => instant(job.status?.startTime) ?? instant(job.metadata.creationTimestamp) ?? 0;
  return startOfJob(a) - startOfJob(b) || (a.metadata.name < b.metadata.name ? -1 : 1);
}
