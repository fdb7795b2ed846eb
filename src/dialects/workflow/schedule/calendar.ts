import { err, type FieldPath, type Instant, ok, type Result } from "#lib/base/index.ts";
import { type CronFields, nextLocalTime, type NextTime, parseCron, type TimeZone, timeZone } from "#lib/text/index.ts";
import type { ScheduleSpec } from "./kind.ts";

// When something is due, from what a document says. The same code judges documents and runs schedules, so that what is admitted can be run.

/** What is wrong with when something is due, at its place below the document. */
export interface CalendarProblem {
  readonly path: FieldPath;
  readonly message: string;
}

/** The schedules of an object, understood. */
export interface Calendar {
  readonly next: NextTime;
  /** The same for the same calendar: a schedule whose text has changed owes nothing for the time before. */
  readonly text: string;
}

/** The part of the specification that says when; documents may hold less than the schema wants. */
type When = Pick<ScheduleSpec, "schedule" | "schedules" | "timeZone">;

/** One schedule is as good as a list of one. */
export const schedulesOf = ({ schedule, schedules = [] }: When): readonly string[] =>
  schedule === undefined ? schedules : [schedule];

/** For people, and to see whether it has changed. The zone is named only where the document names one. */
export const calendarText = (when: When): string =>
  `${schedulesOf(when).join(", ")}${when.timeZone === undefined ? "" : ` (${when.timeZone})`}`;

/** Understands all schedules of an object, or tells everything that is wrong with them. */
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

/** Distances (`@every`) are no calendar: when one is due would hang on when the one before was. */
function fieldsOf(text: string): Result<CronFields, string> {
  const known = "expected five fields or one of @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly";
  const schedule = parseCron(text);
  if (schedule.ok && "every" in schedule.value) return err(`${known}, found ${JSON.stringify(text)}`);
  if (schedule.ok) return ok(schedule.value as CronFields);
  return text.trim().startsWith("@") ? err(`${known}, found ${JSON.stringify(text)}`) : schedule;
}

/** Of several schedules the one that is due first. */
const earliest =
  (all: readonly CronFields[], zone: TimeZone): NextTime =>
  (after: Instant) => {
    const times = all.flatMap((fields) => nextLocalTime(fields, after, zone) ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  };
