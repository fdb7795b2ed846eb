import type { Instant, Millis } from "#lib/base/index.ts";
import { type CronSchedule, nextTime, type TimeZone } from "#lib/text/index.ts";

/** A schedule whose words have been understood. */
export interface Calendar {
  readonly schedule: CronSchedule;
  readonly zone: TimeZone;
}

/** What was due since a moment, up to and with now. */
export interface Missed {
  /** The latest of those times; undefined when there was none. */
  readonly latest?: Instant;
  /** More than `manyMissed` of them. */
  readonly isMany: boolean;
}

/** Kubernetes' figure: so many starts are not missed by a pause, but by a clock or a deadline that is wrong. */
export const manyMissed = 100;
const perMinute: Millis = 60_000;

/** Reckons what was due after `since`. A year of minutes costs what an hour of them costs: about a hundred looks at the calendar. */
export function missedTimes({ schedule, zone }: Calendar, since: Instant, now: Instant): Missed {
  const first = nextTime(schedule, since, zone);
  if (first === undefined || first > now) return { isMany: false };
  if ("every" in schedule) {
    const more = Math.floor((now - first) / schedule.every);
    return { latest: first + more * schedule.every, isMany: more >= manyMissed };
  }
  let latest = first;
  for (let count = 1; count <= manyMissed; count++) {
    const next = nextTime(schedule, latest, zone);
    if (next === undefined || next > now) return { latest, isMany: false };
    latest = next;
  }
  return { latest: latestBefore({ schedule, zone }, latest, now), isMany: true };
}

/** Halves the time between a known time and now until the last one that has something after it is found. */
function latestBefore({ schedule, zone }: Calendar, known: Instant, now: Instant): Instant {
  let latest = known;
  let end = now;
  while (end - latest >= perMinute) {
    const middle = latest + Math.floor((end - latest) / 2);
    const next = nextTime(schedule, middle, zone);
    if (next !== undefined && next <= now) latest = next;
    else end = middle;
  }
  return latest;
}
