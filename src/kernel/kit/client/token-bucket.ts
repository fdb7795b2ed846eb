import type { Instant, Millis } from "#lib/base/index.ts";

/**
 * Lets `perSecond` through on average and `burst` at once. Starts full. It holds no timers: whoever takes says what time it is, on any one
 * clock, and waits by itself.
 */
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

  /** Takes a token if there is one; a refusal costs nothing. */
  tryTake(now: Instant): boolean {
    this.#refill(now);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Takes tokens in any case and answers how long their taker must wait for them. Takers are served in the order in which they ask. */
  reserve(now: Instant, count = 1): Millis {
    this.#refill(now);
    this.#tokens -= count;
    return this.#tokens >= 0 ? 0 : Math.ceil(-this.#tokens / this.#perMilli);
  }

  #refill(now: Instant): void {
    // A clock that was set back gives nothing and takes nothing.
    const passed = Math.max(0, now - (this.#at ?? now));
    this.#tokens = Math.min(this.#burst, this.#tokens + passed * this.#perMilli);
    this.#at = now;
  }
}
