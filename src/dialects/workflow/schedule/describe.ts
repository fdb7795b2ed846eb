import { formatAge, formatTime, type Instant, type Millis, parseInstant } from "#lib/base/index.ts";
import { timeZone } from "#lib/text/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { pairsOf, tableOf } from "#kernel/dialect/index.ts";
import { type Workflow } from "../kinds.ts";
import { calendarOf, schedulesOf } from "./calendar.ts";
import type { ScheduledWorkflow, ScheduleSpec } from "./kind.ts";
import { jitterOf } from "./plan.ts";
import { timeOf } from "./run.ts";

const timesShown = 3;
const runsShown = 20;

/** A schedule for people: next times in its zone, policies, and its `runs`, newest first. */
export function describeSchedule(
  schedule: Stored<ScheduledWorkflow>,
  runs: readonly Stored<Workflow>[],
  now: Instant,
): string {
  const { metadata, spec, status = {} } = schedule;
  const show = (text: string | undefined): string => whenText(parseInstant(text ?? ""), spec, now);
  const queued = status.queuedTime === undefined ? [] : [["Queued", show(status.queuedTime)] as const];
  return [
    ...pairsOf([
      ["Name", metadata.name],
      ["Namespace", metadata.namespace ?? "-"],
      ["Schedules", schedulesOf(spec).join("; ")],
      ["Time zone", spec.timeZone ?? "Etc/UTC"],
      ["Suspended", spec.suspend ? "yes" : "no"],
      ["Ready", readyText(schedule)],
      ...nextTimes(schedule, now),
      ["Last", show(status.lastScheduleTime)],
      ["Succeeded", show(status.lastSuccessfulTime)],
      ...queued,
      ["Active", String(status.activeCount ?? 0)],
      ["Missed", String(status.missed ?? 0)],
      ...policyOf(spec),
    ]),
    "",
    ...runTable(runs, spec, now),
    "",
  ].join("\n");
}

function readyText({ status = {} }: ScheduledWorkflow): string {
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  if (ready === undefined) return "not looked at yet";
  const { reason, message = "" } = ready;
  return [`${ready.status}${reason === undefined ? "" : ` (${reason})`}`, message].filter(Boolean).join(": ");
}

/** Includes the schedule's jitter. */
function nextTimes(schedule: Stored<ScheduledWorkflow>, now: Instant): readonly (readonly [string, string])[] {
  const { spec, status = {} } = schedule;
  const calendar = calendarOf(spec);
  if (spec.suspend || !calendar.ok) return [["Next", spec.suspend ? "none while it is suspended" : "none"]];
  const times: Instant[] = [];
  let after = Math.max(now - jitterOf(schedule), parseInstant(status.decidedTime ?? "") ?? 0);
  while (times.length < timesShown) {
    const at = calendar.value.next(after);
    if (at === undefined) break;
    times.push(at);
    after = at;
  }
  if (times.length === 0) return [["Next", "never"]];
  return times.map((at, index) => [index === 0 ? "Next" : "", whenText(at, spec, now)]);
}

function policyOf(spec: ScheduleSpec): readonly (readonly [string, string])[] {
  const { concurrencyPolicy = "Allow", catchUp = "Latest", catchUpLimit = 100, startingDeadlineSeconds } = spec;
  const { successfulWorkflowsHistoryLimit: succeeded = 3, failedWorkflowsHistoryLimit: failed = 1 } = spec;
  return [
    ["Concurrency", concurrencyPolicy],
    ["Catch-up", catchUp === "All" ? `All, at most ${catchUpLimit}` : catchUp],
    ["May be late", startingDeadlineSeconds === undefined ? "without limit" : `${startingDeadlineSeconds}s`],
    ...(spec.jitterSeconds === undefined ? [] : [["Jitter", `up to ${spec.jitterSeconds}s`] as const]),
    ["History", `keeps ${succeeded} succeeded, ${failed} failed`],
  ];
}

function runTable(runs: readonly Stored<Workflow>[], spec: ScheduleSpec, now: Instant): readonly string[] {
  if (runs.length === 0) return ["Runs:        none"];
  const newest = runs.toSorted((a, b) => bornAt(b) - bornAt(a));
  const rows = newest.slice(0, runsShown).map((run) => {
    const { phase = "Pending", startTime, completionTime, progress = "-", reason = "" } = run.status ?? {};
    const began = parseInstant(startTime ?? "");
    const took = began === undefined ? "-" : formatAge((parseInstant(completionTime ?? "") ?? now) - began);
    const at = timeOf(run);
    return [run.metadata.name, at === undefined ? "by hand" : localText(at, spec), phase, progress, took, reason];
  });
  const more = runs.length > runsShown ? [`and ${runs.length - runsShown} more`] : [];
  return [...tableOf([["RUN", "FOR", "PHASE", "STEPS", "TIME", "REASON"], ...rows]), ...more];
}

const bornAt = (run: Stored<Workflow>): Instant => timeOf(run) ?? parseInstant(run.metadata.creationTimestamp) ?? 0;

/** `2026-03-08T02:30:00+01:00 (in 3h)`, or `-`. */
function whenText(at: Instant | undefined, spec: ScheduleSpec, now: Instant): string {
  if (at === undefined) return "-";
  return `${localText(at, spec)} (${at > now ? `in ${formatAge(at - now)}` : `${formatAge(now - at)} ago`})`;
}

/** In the schedule's zone with its offset, which distinguishes the hours when clocks go back. */
function localText(at: Instant, spec: ScheduleSpec): string {
  const zone = timeZone(spec.timeZone ?? "Etc/UTC");
  const offset: Millis = zone.ok ? zone.value.offsetAt(at) : 0;
  if (offset === 0) return formatTime(at);
  const minutes = Math.round(Math.abs(offset) / 60_000);
  const two = (value: number): string => String(value).padStart(2, "0");
  const wall = formatTime(at + offset).slice(0, -1);
  return `${wall}${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
