import type { Instant, Millis } from "./time.ts";

/** Stops what it belongs to. Calling it twice is harmless. */
export type Cancel = () => void;

/** The only source of time. Code that decides takes `now`; code that waits takes a Clock. */
export interface Clock {
  now(): Instant;
  /** Time since some fixed moment; runs on evenly when an administrator sets the clock. For measuring how long something takes. */
  monotonic(): Millis;
  /** Calls `run` once, no earlier than `delay` from now. Does not keep the process alive by itself. */
  after(delay: Millis, run: () => void): Cancel;
}

// A longer delay overflows the 32 bits that Node's timers have and would fire at once.
const longestTimer = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delay, run) {
    const timer = setTimeout(run, Math.min(Math.max(0, delay), longestTimer));
    timer.unref?.();
    return () => clearTimeout(timer);
  },
};

/** Keeps the process alive until it is canceled, also when only waits are left that keep no process alive. */
export function holdProcess(): Cancel {
  const timer = setInterval(() => undefined, longestTimer);
  return () => clearInterval(timer);
}

/** Resolves after `delay`; rejects with the signal's reason when that aborts first. Keeps no process alive. */
export function sleep(clock: Clock, delay: Millis, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const abort = () => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.after(delay, () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}
