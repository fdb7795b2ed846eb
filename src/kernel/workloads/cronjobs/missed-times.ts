import type { Instant } from "#lib/base/index.ts";
import { type CronSchedule, nextTime, passedTimes, type TimeZone } from "#lib/text/index.ts";

export interface Calendar {
  readonly schedule: CronSchedule;
  readonly zone: TimeZone;
}

export interface Missed {
  readonly latest?: Instant;
  readonly isMany: boolean;
}

/** Kubernetes' limit: more missed starts point to a wrong clock or deadline. */
export const manyMissed = 100;

/** The times due after `since`, up to and including now. About a hundred steps, however long the time is. */
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
