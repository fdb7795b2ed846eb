import { type Instant, type Millis } from "#lib/base/index.ts";
import { type NextTime, passedTimes } from "#lib/text/index.ts";
import type { ScheduleSpec } from "./kind.ts";

/** What is late by no more than this is on time: processors are busy, timers are late. More is being missed. */
const grace: Millis = 10_000;
/** Missed runs are counted up to here. A year of minutes must not hold up the process. */
export const mostCounted = 1_000;

/** Which times of a schedule are to get a run now. */
export interface Due {
  /** In order. */
  readonly starts: readonly Instant[];
  /** Times that get none, for good: too late, or not asked to be made up for. */
  readonly missed: number;
  /** There are more of those than were counted. */
  readonly isMore: boolean;
  /** Of all times that are decided now the last one; undefined when nothing is due. */
  readonly latest?: Instant;
}

/**
 * Decides about the times after `since` up to and with `until`. What is due now is started; of what was missed, as `catchUp` says.
 * However many were missed, a decision is made, so that the schedule goes on.
 */
export function dueTimes(spec: ScheduleSpec, next: NextTime, since: Instant, until: Instant): Due {
  const passed = passedTimes(next, since, until, mostCounted);
  if (passed.latest === undefined) return { starts: [], missed: 0, isMore: false };
  const { catchUp = "Latest", catchUpLimit = 100 } = spec;
  const inTime = Math.max(since, until - longestDelay(spec) - 1);
  const after = (from: Instant, most: number) => passedTimes(next, from, until, most).first;
  const onTime = after(Math.max(inTime, until - grace - 1), 1);
  const starts = {
    None: () => onTime,
    Latest: () => (passed.latest !== undefined && passed.latest > inTime ? [passed.latest] : []),
    All: () => [...new Set([...after(inTime, catchUpLimit), ...onTime])],
  }[catchUp]();
  const missed = Math.max(0, passed.first.length - starts.length);
  return { starts, missed, isMore: passed.isMore, latest: passed.latest };
}

/** How late a run may start: a deadline shorter than what counts as on time would start nothing, ever. */
export const longestDelay = ({ startingDeadlineSeconds = Infinity }: ScheduleSpec): Millis =>
  Math.max(startingDeadlineSeconds * 1000, grace);
