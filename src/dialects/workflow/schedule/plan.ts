import { formatTime, type Instant, type Millis, parseInstant } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { type Workflow, isFinished } from "../kinds.ts";
import type { Notice } from "../messages.ts";
import { calendarOf, calendarText } from "./calendar.ts";
import { dueTimes, longestDelay } from "./due.ts";
import type { ScheduledWorkflow, ScheduleSpec } from "./kind.ts";
import { scheduleNotices } from "./notices.ts";
import { turnout } from "./policy.ts";
import { runName, timeOf } from "./run.ts";
import { owesNews } from "../notify/owed.ts";

export type Readiness = "Scheduled" | "Suspended" | "InvalidSchedule" | "NeverDue" | "ClockSetBack";

/** Everything to do now. Repeatable after a crash: a time determines its run's name. */
export interface SchedulePlan {
  readonly starts: readonly Instant[];
  readonly cancel: readonly Stored<Workflow>[];
  readonly remove: readonly Stored<Workflow>[];
  /** To record once the status is stored. */
  readonly notices: readonly Notice[];
  readonly missed: number;
  readonly readiness: Readiness;
  readonly message: string;
  /** All times up to here are decided. */
  readonly decided: Instant;
  readonly queued?: Instant;
  /** Without jitter. */
  readonly next?: Instant;
}

/** Small corrections of the clock are ignored. */
const aheadEnough: Millis = 60_000;

/** Plans the next step of a ScheduledWorkflow with its `runs`. Pure. Each time is decided once. */
export function planSchedule(
  schedule: Stored<ScheduledWorkflow>,
  runs: readonly Stored<Workflow>[],
  now: Instant,
): SchedulePlan {
  const { spec, status = {} } = schedule;
  const queuedBefore = instant(status.queuedTime);
  const idle = { starts: [], cancel: [], remove: superfluous(spec, runs), missed: 0, message: "" };
  const decided = decidedBefore(schedule, now);
  const calendar = calendarOf(spec);
  if (!calendar.ok) {
    const message = calendar.error.map(({ path, message: text }) => `${path.join(".")}: ${text}`).join("; ");
    return {
      ...idle,
      readiness: "InvalidSchedule",
      message,
      decided,
      notices: scheduleNotices.invalid(status, message),
    };
  }
  if (spec.suspend) {
    const notices =
      queuedBefore === undefined ? [] : scheduleNotices.skipped([queuedBefore], "the schedule is suspended");
    return { ...idle, readiness: "Suspended", decided, notices };
  }
  const { next } = calendar.value;
  // Jitter shifts the calendar.
  const until = now - jitterOf(schedule);
  const due = dueTimes(spec, next, decided, until);
  const names = new Set(runs.map(({ metadata }) => metadata.name));
  const queue = waiting(schedule, queuedBefore, until);
  const wanted = [...queue.wanted, ...due.starts].filter((at) => !names.has(runName(schedule, at)));
  const underWay = runs.filter((run) => !isFinished(run) && timeOf(run) !== undefined);
  const { starts, replaces, skipped, queued } = turnout(spec.concurrencyPolicy, wanted, underWay.length > 0);
  const upTo = Math.max(decided, due.latest ?? decided);
  const after = next(Math.max(upTo, until));
  const missed = due.missed + queue.missed;
  return {
    starts,
    cancel: replaces ? underWay.filter(mayBeCanceled) : [],
    remove: idle.remove,
    notices: [
      ...scheduleNotices.missed(missed, due.isMore, spec),
      ...scheduleNotices.skipped(skipped, reasonToSkip(underWay)),
    ],
    missed,
    ...readinessOf(upTo, after, now),
    decided: upTo,
    ...(queued === undefined ? {} : { queued }),
    ...(after === undefined ? {} : { next: after }),
  };
}

/** Last decided time. A new, changed or resumed schedule owes nothing for the past. */
function decidedBefore({ metadata, spec, status = {} }: Stored<ScheduledWorkflow>, now: Instant): Instant {
  const decided = instant(status.decidedTime) ?? instant(metadata.creationTimestamp) ?? now;
  if (status.schedule !== undefined && status.schedule !== calendarText(spec)) return now;
  const wasSuspended = status.conditions?.some(({ reason }) => reason === "Suspended") === true;
  return wasSuspended ? Math.max(now, decided) : decided;
}

function waiting({ spec }: ScheduledWorkflow, queued: Instant | undefined, until: Instant) {
  if (queued === undefined) return { wanted: [], missed: 0 };
  return until - queued > longestDelay(spec) ? { wanted: [], missed: 1 } : { wanted: [queued], missed: 0 };
}

function readinessOf(
  decided: Instant,
  next: Instant | undefined,
  now: Instant,
): Pick<SchedulePlan, "readiness" | "message"> {
  if (decided > now + aheadEnough) {
    const message = `runs up to ${formatTime(decided)} were decided before the clock was set back, and are not decided again; change the schedule or its time zone to start over`;
    return { readiness: "ClockSetBack", message };
  }
  return next === undefined
    ? { readiness: "NeverDue", message: "the schedule matches no future date" }
    : { readiness: "Scheduled", message: "" };
}

/** Constant per schedule, spread evenly. */
export function jitterOf({ metadata, spec }: Stored<ScheduledWorkflow>): Millis {
  const whole = (spec.jitterSeconds ?? 0) * 1000;
  let mixed = 0;
  for (const character of metadata.uid) mixed = (Math.imul(mixed, 31) + character.charCodeAt(0)) >>> 0;
  return Math.floor((mixed / 2 ** 32) * whole);
}

/** Not one that is ending or being deleted. */
const mayBeCanceled = ({ metadata, status }: Stored<Workflow>): boolean =>
  metadata.deletionTimestamp === undefined && status?.phase !== "Cancelling";

/** Without active runs, others of the same pass took precedence. */
const reasonToSkip = (underWay: readonly Stored<Workflow>[]): string => {
  const [first] = underWay;
  return first === undefined ? "another run of the schedule takes its turn" : `${first.metadata.name} has not ended`;
};

/** Unreadable times count as absent. */
const instant = (text: string | undefined): Instant | undefined =>
  text === undefined ? undefined : parseInstant(text);

/** Finished runs beyond the limits, oldest first, per outcome. Runs started by people stay. */
function superfluous(spec: ScheduleSpec, runs: readonly Stored<Workflow>[]): readonly Stored<Workflow>[] {
  const { successfulWorkflowsHistoryLimit = 3, failedWorkflowsHistoryLimit = 1 } = spec;
  const ended = runs
    .filter((run) => isFinished(run) && timeOf(run) !== undefined && run.metadata.deletionTimestamp === undefined)
    // Notifications are owed for an hour at most.
    .filter(({ status }) => !owesNews(status ?? {}))
    .toSorted((a, b) => (timeOf(a) ?? 0) - (timeOf(b) ?? 0));
  const isGood = ({ status }: Workflow): boolean => status?.phase === "Succeeded";
  return [
    ...beyond(ended.filter(isGood), successfulWorkflowsHistoryLimit),
    ...beyond(
      ended.filter((run) => !isGood(run)),
      failedWorkflowsHistoryLimit,
    ),
  ];
}

const beyond = <T>(oldestFirst: readonly T[], kept: number): readonly T[] =>
  oldestFirst.slice(0, Math.max(0, oldestFirst.length - kept));
