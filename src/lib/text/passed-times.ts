import type { Instant, Millis } from "#lib/base/index.ts";

/** The first due time after an instant, in whole minutes; monotonic in the instant. */
export type NextTime = (after: Instant) => Instant | undefined;

/** What was due since a moment, up to and with now. */
export interface PassedTimes {
  /** In order; no more than were asked for. */
  readonly first: readonly Instant[];
  /** The last of all of them; undefined when there was none. */
  readonly latest?: Instant;
  /** There are more than `first` has. */
  readonly isMore: boolean;
}

const perMinute: Millis = 60_000;

/** Times beyond `most` are not counted, only their end is looked for: that bounds the cost. */
export function passedTimes(next: NextTime, since: Instant, now: Instant, most: number): PassedTimes {
  const first: Instant[] = [];
  let latest = since;
  for (;;) {
    const found = next(latest);
    if (found === undefined || found > now) return ended(first);
    if (first.length === most) return { first, latest: latestBefore(next, found, now), isMore: true };
    first.push(found);
    latest = found;
  }
}

function ended(first: readonly Instant[]): PassedTimes {
  const latest = first.at(-1);
  return { first, isMore: false, ...(latest === undefined ? {} : { latest }) };
}

/** Halves the time between a known time and now until the last one that has something after it is found. */
function latestBefore(next: NextTime, known: Instant, now: Instant): Instant {
  let latest = known;
  let end = now;
  while (end - latest >= perMinute) {
    const middle = latest + Math.floor((end - latest) / 2);
    const found = next(middle);
    if (found !== undefined && found <= now) latest = found;
    else end = middle;
  }
  return latest;
}
