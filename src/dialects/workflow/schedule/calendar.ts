import { err, type FieldPath, type Instant, ok, type Result } from "#lib/base/index.ts";
import { type CronFields, nextLocalTime, type NextTime, parseCron, type TimeZone, timeZone } from "#lib/text/index.ts";
import type { ScheduleSpec } from "./kind.ts";

// Times from a document. Shared by validation and controller.

export interface CalendarProblem {
  readonly path: FieldPath;
  readonly message: string;
}

export interface Calendar {
  readonly next: NextTime;
  /** Equal for equal calendars; a changed schedule owes nothing for the past. */
  readonly text: string;
}

/** Documents may lack required fields. */
type When = Pick<ScheduleSpec, "schedule" | "schedules" | "timeZone">;

export const schedulesOf = ({ schedule, schedules = [] }: When): readonly string[] =>
  schedule === undefined ? schedules : [schedule];

/** For people, and to detect changes. Names the zone only if the document does. */
export const calendarText = (when: When): string =>
  `${schedulesOf(when).join(", ")}${when.timeZone === undefined ? "" : ` (${when.timeZone})`}`;

export function calendarOf(when: When): Result<Calendar, readonly CalendarProblem[]> {
  const problems: CalendarProblem[] = [];
  const refuse = (path: FieldPath, message: string): void => void problems.push({ path: ["spec", ...path], message });
  const zone = timeZone(when.timeZone ?? "Etc/UTC");
  if (!zone.ok) refuse(["timeZone"], zone.error);
  const all = schedulesOf(when).flatMap((text, index): readonly CronFields[] => {
    const fields = fieldsOf(text);
    if (fields.ok) return [fields.value];
    refuse(when.schedule === undefined ? ["schedules", index] : ["schedule"], fields.error);
    return [];
  });
  if (problems.length > 0 || !zone.ok) return err(problems);
  return ok({ next: earliest(all, zone.value), text: calendarText(when) });
}

/** Intervals (`@every`) depend on the previous run, so they are refused. */
function fieldsOf(text: string): Result<CronFields, string> {
  const known = "expected five fields or one of @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly";
  const schedule = parseCron(text);
  if (schedule.ok && "every" in schedule.value) return err(`${known}, found ${JSON.stringify(text)}`);
  if (schedule.ok) return ok(schedule.value as CronFields);
  return text.trim().startsWith("@") ? err(`${known}, found ${JSON.stringify(text)}`) : schedule;
}

const earliest =
  (all: readonly CronFields[], zone: TimeZone): NextTime =>
  (after: Instant) => {
    const times = all.flatMap((fields) => nextLocalTime(fields, after, zone) ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  };
