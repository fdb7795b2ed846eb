import type { Instant, Millis } from "#lib/base/index.ts";

/** Lets `perSecond` through on average and `burst` at once. Starts full. Callers pass the time and wait. */
export class TokenBucket {
  readonly #perMilli: number;
  readonly #burst: number;
  #tokens: number;
  #at: Instant | undefined;

  constructor(limit: { readonly perSecond: number; readonly burst: number }) {
    this.#perMilli = limit.perSecond / 1000;
    this.#burst = limit.burst;
    this.#tokens = limit.burst;
  }

  /** A refusal costs nothing. */
  tryTake(now: Instant): boolean {
    this.#refill(now);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Takes tokens and returns how long to wait for them, in the order of the calls. */
  reserve(now: Instant, count = 1): Millis {
    this.#refill(now);
    this.#tokens -= count;
    return this.#tokens >= 0 ? 0 : Math.ceil(-this.#tokens / this.#perMilli);
  }

  #refill(now: Instant): void {
    // A clock that was set back changes nothing.
    const passed = Math.max(0, now - (this.#at ?? now));
    this.#tokens = Math.min(this.#burst, this.#tokens + passed * this.#perMilli);
    this.#at = now;
  }
}
