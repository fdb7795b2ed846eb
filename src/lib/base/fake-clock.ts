import type { Cancel, Clock } from "./clock.ts";
import type { Instant, Millis } from "./time.ts";

/** A clock that moves only when told to, for tests: timers due are run in order of their time. */
export class FakeClock implements Clock {
  #now: Instant;
  #timers: { at: Instant; run: () => void }[] = [];

  constructor(start: Instant = Date.UTC(2026, 0, 1)) {
    this.#now = start;
  }

  now(): Instant {
    return this.#now;
  }

  after(delay: Millis, run: () => void): Cancel {
    const timer = { at: this.#now + Math.max(0, delay), run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Moves forward by `step`, running due timers at their own time, and lets promises settle after each. */
  async advance(step: Millis): Promise<void> {
    const end = this.#now + step;
    for (;;) {
      await settled();
      const next = this.#timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((t) => t !== next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = end;
    await settled();
  }

  /** Sets the time without running timers, as an administrator who corrects the clock would. */
  jump(to: Instant): void {
    this.#now = to;
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
