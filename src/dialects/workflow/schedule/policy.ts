import type { Instant } from "#lib/base/index.ts";
import type { ScheduleSpec } from "./kind.ts";

export interface Turnout {
  readonly starts: readonly Instant[];
  /** Starts when the active runs have ended. */
  readonly queued?: Instant;
  /** Cancels the active runs. */
  readonly replaces: boolean;
  /** Never get a run. */
  readonly skipped: readonly Instant[];
}

/**
 * Applies `concurrencyPolicy` to the times in order: an earlier queued one, and new ones. `isBusy`: a run is active. At
 * most one waits: with Queue the first, so that it gets its turn; with Replace the last, until the canceled runs have
 * ended.
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
