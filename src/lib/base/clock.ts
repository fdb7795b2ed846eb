import type { Instant, Millis } from "./time.ts";

/** Stops what it belongs to. Calling it twice is harmless. */
export type Cancel = () => void;

/** The only source of time. Code that decides takes `now`; code that waits takes a Clock. */
export interface Clock {
  /** The time of day, for what is written down. Follows a clock that is set forward; see `systemClock` for one that is set back. */
  now(): Instant;
  /** Time since some fixed moment; runs on evenly when an administrator sets the clock. For measuring how long something takes. */
  monotonic(): Millis;
  /**
   * Calls `run` once, no earlier than `delay` from now, never before `after` has returned. A negative delay counts as 0.
   * Does not keep the process alive by itself. What `run` throws is nobody's: it must not throw.
   */
  after(delay: Millis, run: () => void): Cancel;
}

// A longer delay (24.8 days) overflows the 32 bits that Node's timers have and would fire at once: it is waited for in parts.
const longestTimer = 2 ** 31 - 1;

/** A clock that is set back by more than that was wrong before, and is followed. */
const longestHold: Millis = 24 * 3_600_000;

/** The latest time of day that was told, and when. */
let latest = { at: 0, since: 0 };

/**
 * The time of day, which runs on evenly where the machine's clock is set back: whoever waits for an instant waits no longer
 * than it was away. The process is ahead of the machine's clock from then on, until it starts again.
 */
function steadyNow(): Instant {
  const [at, since] = [Date.now(), performance.now()];
  const held = Math.floor(latest.at + since - latest.since);
  if (at < held && held - at <= longestHold) return held;
  latest = { at, since };
  return at;
}

/** The clock of the process that runs. Only `app` and tests of real waits name it; everything else is handed a Clock. */
export const systemClock: Clock = {
  now: steadyNow,
  monotonic: () => performance.now(),
  after(delay, run) {
    let timer: NodeJS.Timeout;
    const wait = (left: Millis): void => {
      const part = Math.min(left, longestTimer);
      timer = setTimeout(left > part ? () => wait(left - part) : run, part);
      // `unref` is missing where the timers are those of a browser.
      timer.unref?.();
    };
    wait(Math.max(0, delay));
    return () => clearTimeout(timer);
  },
};

/** Keeps the process alive until it is canceled, also when only waits are left that keep no process alive. */
export function holdProcess(): Cancel {
  const timer = setInterval(() => undefined, longestTimer);
  return () => clearInterval(timer);
}
