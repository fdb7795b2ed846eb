import type { Instant, Millis } from "#lib/base/index.ts";
import type { CronFields, CronSchedule } from "./cron.ts";
import type { TimeZone } from "./time-zone.ts";

const perMinute: Millis = 60_000;
const perHour: Millis = 60 * perMinute;
const perDay: Millis = 24 * perHour;
/** No calendar that repeats takes longer: 29 February comes every four years, and once a century every eight. */
const furthest: Millis = 9 * 366 * perDay;

/**
 * The first time after `after` at which the schedule is due; undefined when there is none (`0 0 31 2 *`). Whole minutes
 * of the zone's wall clock. Times that a change to summer time leaves out do not come; an hour that comes twice is due
 * twice, as in Kubernetes. Takes a few steps for each month, day and hour that it passes, so a few thousand at most.
 */
export function nextTime(schedule: CronSchedule, after: Instant, zone: TimeZone): Instant | undefined {
  if ("every" in schedule) return after - modulo(after, 1000) + schedule.every;
  const end = after + furthest;
  let at = after - modulo(after, perMinute) + perMinute;
  while (at <= end) {
    const later = laterThan(schedule, at, zone);
    if (later === at) return at;
    at = later;
  }
  return undefined;
}

/** `at` itself if due; else the beginning of the next month, day, hour or minute, whichever does not match. */
function laterThan(fields: CronFields, at: Instant, zone: TimeZone): Instant {
  const wall = at + zone.offsetAt(at);
  const { year, month, day } = dateOf(wall);
  const midnight = wall - modulo(wall, perDay);
  if (!fields.months.has(month)) return startOfDay(at + Date.UTC(year, month, 1) - wall, zone);
  if (!isDue(fields, day, modulo(Math.floor(wall / perDay) + 4, 7))) {
    return startOfDay(at + midnight + perDay - wall, zone);
  }
  const inHour = modulo(wall, perHour);
  // By the clock on the wall and not by that of the machine: a zone may be half an hour off.
  if (!fields.hours.has(Math.floor(modulo(wall, perDay) / perHour))) return at + perHour - inHour;
  return fields.minutes.has(inHour / perMinute) ? at : at + perMinute;
}

function isDue({ daysOfMonth, daysOfWeek, eitherDay }: CronFields, day: number, weekday: number): boolean {
  const [byDate, byWeekday] = [daysOfMonth.has(day), daysOfWeek.has(weekday)];
  return eitherDay ? byDate || byWeekday : byDate && byWeekday;
}

/**
 * The first minute of the day near whose beginning `at` is. The clock may have been put forward or back on the way, so
 * `at` is up to some hours before or after midnight. A day whose midnight is left out begins when it begins.
 */
function startOfDay(at: Instant, zone: TimeZone): Instant {
  const past = modulo(at + zone.offsetAt(at), perDay);
  if (past === 0) return at;
  if (past > perDay / 2) return at + perDay - past;
  const back = at - past;
  return modulo(back + zone.offsetAt(back), perDay) > perDay / 2 ? at : back;
}

/** Year, month (from 1) and day of a count of milliseconds, in the calendar of UTC. */
function dateOf(wall: Instant): { readonly year: number; readonly month: number; readonly day: number } {
  const date = new Date(wall);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

/** Never negative, also for times before 1970. */
const modulo = (value: number, by: number): number => ((value % by) + by) % by;
