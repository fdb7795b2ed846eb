import type { Instant } from "#lib/base/index.ts";
import type { ScheduleSpec } from "./kind.ts";

/** What becomes of the times that want a run. */
export interface Turnout {
  readonly starts: readonly Instant[];
  /** Gets its run when those that are under way have ended. */
  readonly queued?: Instant;
  /** Those that are under way are to be canceled. */
  readonly replaces: boolean;
  /** Get no run, for good. */
  readonly skipped: readonly Instant[];
}

/**
 * What `concurrencyPolicy` makes of the times that want a run, in order: one that was queued before, and new ones. `isBusy`: an earlier run
 * has not ended. One run waits at most. With Queue it is the one that came first, so that it does get its turn; with Replace the last one,
 * which waits for the end of those it has canceled: what they do at their end must not meet what it does at its beginning.
 */
export function turnout(
  policy: ScheduleSpec["concurrencyPolicy"],
  wanted: readonly Instant[],
  isBusy: boolean,
): Turnout {
  const [first, ...rest] = wanted;
  const last = wanted.at(-1);
  if (first === undefined || last === undefined) return { starts: [], replaces: false, skipped: [] };
  switch (policy) {
    case "Forbid":
      return isBusy
        ? { starts: [], replaces: false, skipped: wanted }
        : { starts: [first], replaces: false, skipped: rest };
    case "Queue": {
      if (isBusy) return { starts: [], queued: first, replaces: false, skipped: rest };
      const [second, ...others] = rest;
      const queued = second === undefined ? {} : { queued: second };
      return { starts: [first], ...queued, replaces: false, skipped: others };
    }
    case "Replace": {
      const skipped = wanted.slice(0, -1);
      return isBusy
        ? { starts: [], queued: last, replaces: true, skipped }
        : { starts: [last], replaces: false, skipped };
    }
    case "Allow":
    case undefined:
      return { starts: wanted, replaces: false, skipped: [] };
  }
}
