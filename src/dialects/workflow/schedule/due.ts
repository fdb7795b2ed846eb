import { type Instant, type Millis } from "#lib/base/index.ts";
import { type NextTime, passedTimes } from "#lib/text/index.ts";
import type { ScheduleSpec } from "./kind.ts";

/** Delays up to this are on time; longer ones count as missed. */
const grace: Millis = 10_000;
export const mostCounted = 1_000;

/** Times that get a run now. */
export interface Due {
  readonly starts: readonly Instant[];
  /** Times that get no run, because they are late or not caught up. */
  readonly missed: number;
  /** There are more than were counted. */
  readonly isMore: boolean;
  /** The last decided time; undefined if nothing is due. */
  readonly latest?: Instant;
}

/** Decides about times after `since` up to `until`: starts what is due, and what was missed as `catchUp` says. */
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

/** Never shorter than the grace, or nothing would start. */
export const longestDelay = ({ startingDeadlineSeconds = Infinity }: ScheduleSpec): Millis =>
  Math.max(startingDeadlineSeconds * 1000, grace);
