import type { Instant } from "#lib/base/index.ts";
import { type CronSchedule, nextTime, passedTimes, type TimeZone } from "#lib/text/index.ts";

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

/** Reckons what was due after `since`. A year of minutes costs what an hour of them costs: about a hundred looks at the calendar. */
export function missedTimes({ schedule, zone }: Calendar, since: Instant, now: Instant): Missed {
  const first = nextTime(schedule, since, zone);
  if (first === undefined || first > now) return { isMany: false };
  if ("every" in schedule) {
    const more = Math.floor((now - first) / schedule.every);
    return { latest: first + more * schedule.every, isMany: more >= manyMissed };
  }
  const passed = passedTimes((after) => nextTime(schedule, after, zone), since, now, manyMissed);
  return { ...(passed.latest === undefined ? {} : { latest: passed.latest }), isMany: passed.isMore };
}
