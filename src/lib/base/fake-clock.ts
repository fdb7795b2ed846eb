import type { Cancel, Clock } from "./clock.ts";
import type { Instant, Millis } from "./time.ts";

/**
 * A clock that moves only when told to, for tests. Timers that are due run in the order of their times, equal times in the
 * order in which they were asked for. Starts at 2026-01-01T00:00:00Z unless told otherwise.
 */
export class FakeClock implements Clock {
  /** What `now` is ahead of the time that has passed. */
  #offset: Instant;
  #passed: Millis = 0;
  #timers: { at: Millis; run: () => void }[] = [];

  constructor(start: Instant = Date.UTC(2026, 0, 1)) {
    this.#offset = start;
  }

  now(): Instant {
    return this.#offset + this.#passed;
  }

  monotonic(): Millis {
    return this.#passed;
  }

  after(delay: Millis, run: () => void): Cancel {
    const timer = { at: this.#passed + Math.max(0, delay), run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /**
   * Moves forward by `step`, running due timers at their own time, and lets promises settle and files be read and written after
   * each. A timer that a timer sets runs in the same call when it is due within the step. `advance(0)` runs what is due now.
   * Must not run twice at once.
   */
  async advance(step: Millis): Promise<void> {
    const end = this.#passed + step;
    for (;;) {
      await settled();
      const next = this.#timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((t) => t !== next);
      this.#passed = Math.max(this.#passed, next.at);
      next.run();
    }
    this.#passed = end;
    await settled();
  }

  /** Lets everything that can happen now happen: each turn may give another one something to do. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 12; turn++) await this.advance(0);
  }

  /** Moves forward a little at a time, so that what happens at one moment can lead to more at the next. */
  async pass(time: Millis): Promise<void> {
    const step = Math.max(1, Math.ceil(time / 20));
    for (let left = time; left > 0; left -= step) {
      await this.advance(Math.min(step, left));
      await this.settle();
    }
  }

  /** Sets the time as an administrator who corrects the clock would: no timer runs earlier or later for it. */
  jump(to: Instant): void {
    this.#offset = to - this.#passed;
  }
}

// Work that was put off to the next turn may put off more work; a few turns let such chains come to rest.
const turns = 5;

/** Resolves after some turns without any request to a disk: how long that takes, no clock can hurry. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (isAtDisk()) turn = -1;
  }
}

/** True while a file is opened, read, written or closed by other threads of this process. */
const isAtDisk = (): boolean => process.getActiveResourcesInfo().some((name) => /^(?:FSReq|CloseReq)/.test(name));
