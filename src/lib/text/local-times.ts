import type { Instant, Millis } from "#lib/base/index.ts";
import { nextTime } from "./cron-times.ts";
import type { CronFields } from "./cron.ts";
import type { TimeZone } from "./time-zone.ts";

// Where Kubernetes' CronJobs skip what a change to summer time leaves out and repeat what comes twice, people who write
// "at half past two" mean once a day. So a fixed hour is reckoned in days of the wall clock, each of which comes once,
// and only then looked up in time.

const perHour: Millis = 3_600_000;
const perDay: Millis = 24 * perHour;
/** Zones are up to 14 hours ahead of UTC and 12 behind it; a wall time is somewhere in between, whatever the zone. */
const ahead: Millis = 15 * perHour;
const behind: Millis = 13 * perHour;

/** A calendar without changes, in which wall times are reckoned as if they were instants. */
const wallClock: TimeZone = { offsetAt: () => 0 };

/**
 * The first time after `after` at which the schedule is due; undefined when there is none. A schedule with a fixed hour
 * is due exactly once for each of its times of a local day: at the first instant after the gap where the clocks leave
 * the time out, the first time only where it comes twice. One whose hour begins with a star goes by the clock as it
 * reads, like `nextTime`.
 */
export function nextLocalTime(fields: CronFields, after: Instant, zone: TimeZone): Instant | undefined {
  if (!fields.isHourFixed) return nextTime(fields, after, zone);
  // Times that the clock has shown before come again here, an hour of them at most but where a zone repeats a day.
  let wall = nextTime(fields, after + zone.offsetAt(after), wallClock);
  while (wall !== undefined) {
    const at = firstInstant(wall, zone);
    if (at > after && isOnTheCalendar(wall, zone)) return at;
    wall = nextTime(fields, wall, wallClock);
  }
  return undefined;
}

/** The first instant at which the wall clock shows that time or later. Monotonic in the time. */
function firstInstant(wall: Instant, zone: TimeZone): Instant {
  const [from, to] = [wall - ahead, wall + behind];
  const [before, after] = [zone.offsetAt(from), zone.offsetAt(to)];
  if (before === after) return wall - before;
  const change = changeBetween(from, to, zone);
  return wall - before < change ? wall - before : Math.max(change, wall - after);
}

/** When the clocks are changed, to the millisecond; they are once between the two. */
function changeBetween(from: Instant, to: Instant, zone: TimeZone): Instant {
  const before = zone.offsetAt(from);
  let [low, high] = [from, to];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (zone.offsetAt(middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** Islands that changed sides of the date line have left out a whole day: what was due on it is not made up for. */
function isOnTheCalendar(wall: Instant, zone: TimeZone): boolean {
  const day = Math.floor(wall / perDay) * perDay;
  return firstInstant(day, zone) < firstInstant(day + perDay, zone);
}
