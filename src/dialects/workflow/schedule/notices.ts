import { formatTime, type Instant } from "#lib/base/index.ts";
import { type Notice } from "../messages.ts";
import { mostCounted } from "./due.ts";
import type { ScheduleSpec, ScheduleStatus } from "./kind.ts";

const notice = (type: Notice["type"], reason: string, note: string): Notice => ({
  type,
  reason,
  action: "Schedule",
  note,
});

/** Recorded on change; a thousand of a kind are one event. */
export const scheduleNotices = {
  started: (name: string, at: Instant): Notice =>
    notice("Normal", "ScheduledRun", `created workflow "${name}" for ${formatTime(at)}`),
  taken: (name: string, at: Instant): Notice =>
    notice(
      "Normal",
      "SkippedRun",
      `the run of ${formatTime(at)} was skipped: a workflow "${name}" of another owner exists`,
    ),
  notCreated: (name: string, message: string): Notice =>
    notice("Warning", "FailedCreate", `workflow "${name}" cannot be created: ${message}`),
  skipped: (times: readonly Instant[], why: string): readonly Notice[] => {
    const [first] = times;
    const last = times.at(-1);
    if (first === undefined || last === undefined) return [];
    const what =
      times.length === 1
        ? `the run of ${formatTime(first)} was skipped`
        : `${times.length} runs from ${formatTime(first)} to ${formatTime(last)} were skipped`;
    return [notice("Normal", "SkippedRun", `${what}: ${why}`)];
  },
  missed: (count: number, isMore: boolean, { catchUp = "Latest" }: ScheduleSpec): readonly Notice[] => {
    if (count === 0) return [];
    const many = isMore ? `more than ${mostCounted} runs were` : count === 1 ? "1 run was" : `${count} runs were`;
    return [notice("Warning", "MissedRuns", `${many} missed and not made up for (catchUp: ${catchUp})`)];
  },
  invalid: ({ conditions = [] }: ScheduleStatus, message: string): readonly Notice[] =>
    conditions.some((condition) => condition.message === message)
      ? []
      : [notice("Warning", "InvalidSchedule", message)],
} as const;
