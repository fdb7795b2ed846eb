import type { Cancel, Clock } from "./clock.ts";
import type { Instant, Millis } from "./time.ts";

/** A clock that moves only when told to. Due timers run in the order of their times, then of their creation. */
export class FakeClock implements Clock {
  /** `now` minus the time that has passed. */
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
   * Moves forward by `step`, running due timers at their own times and letting promises and file operations settle
   * after each. Timers set by timers run in the same call if due. `advance(0)` runs what is due now. Must not run twice
   * at once.
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

  /** Lets everything happen that can happen now. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 12; turn++) await this.advance(0);
  }

  /** Moves in small steps so that effects of one moment can cause others in the next. */
  async pass(time: Millis): Promise<void> {
    const step = Math.max(1, Math.ceil(time / 20));
    for (let left = time; left > 0; left -= step) {
      await this.advance(Math.min(step, left));
      await this.settle();
    }
  }

  /** Sets the time of day; timers are unaffected. */
  jump(to: Instant): void {
    this.#offset = to - this.#passed;
  }
}

// Deferred work may defer more work.
const turns = 5;

/** Disk requests are waited for, as no clock hurries them. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (isAtDisk()) turn = -1;
  }
}

// A server has some dozens of timers and sockets, and this is asked a hundred times for each step of the clock.
const isAtDisk = (): boolean =>
  process.getActiveResourcesInfo().some((name) => name.startsWith("FSReq") || name.startsWith("CloseReq"));
