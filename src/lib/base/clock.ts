import type { Instant, Millis } from "./time.ts";

/** Idempotent. */
export type Cancel = () => void;

/** The only source of time. Code that decides takes `now`; code that waits takes a Clock. */
export interface Clock {
  /** Time of day. Follows a clock that is set forward; see `systemClock` for one that is set back. */
  now(): Instant;
  /** Unaffected by setting the clock; for measuring durations. */
  monotonic(): Millis;
  /** Calls `run` once, at least `delay` from now, never synchronously. Lets the process exit. `run` must not throw. */
  after(delay: Millis, run: () => void): Cancel;
}

// Node's timers have 32 bits: longer delays (24.8 days) would fire at once and are split.
const longestTimer = 2 ** 31 - 1;

/** A clock that is set back further was wrong before and is followed. */
const longestHold: Millis = 24 * 3_600_000;

let latest = { at: 0, since: 0 };

/** Steady when the machine's clock is set back: no timer waits longer. Stays ahead of it until the restart. */
function steadyNow(): Instant {
  const [at, since] = [Date.now(), performance.now()];
  const held = Math.floor(latest.at + since - latest.since);
  if (at < held && held - at <= longestHold) return held;
  latest = { at, since };
  return at;
}

/** Only `app` and tests of real waits use it; all else is given a Clock. */
export const systemClock: Clock = {
  now: steadyNow,
  monotonic: () => performance.now(),
  after(delay, run) {
    let timer: NodeJS.Timeout;
    const wait = (left: Millis): void => {
      const part = Math.min(left, longestTimer);
      timer = setTimeout(left > part ? () => wait(left - part) : run, part);
      // Browsers have no `unref`.
      timer.unref?.();
    };
    wait(Math.max(0, delay));
    return () => clearTimeout(timer);
  },
};

/** Keeps the process alive until canceled. */
export function holdProcess(): Cancel {
  const timer = setInterval(() => undefined, longestTimer);
  return () => clearInterval(timer);
}
