import { unitHash } from "./hash.ts";
import type { RetryPolicy } from "./plan.ts";
import type { Millis } from "./values.ts";

// `n` counts failures, from 1. Every result is an integer from 0 to the cap.

export interface Exponential {
  readonly base: Millis;
  readonly factor: number;
  readonly cap: Millis;
}

/** `min(cap, base * factor^(n-1))`, rounded down, exact for any n. A factor below 1 counts as 1. */
export function exponential(n: number, { base, factor, cap }: Exponential): Millis {
  if (!(base > 0) || !(cap > 0)) return 0;
  if (base >= cap) return Math.floor(cap);
  if (!(factor > 1)) return Math.floor(base);
  const exponent = Math.max(0, n - 1);
  // The power may overflow to Infinity.
  return Math.floor(Math.min(cap, base * factor ** exponent));
}

/** Spreads a delay by plus or minus `fraction` of it, in whole milliseconds; the seed (`uid/step/n`) decides. */
export const jittered = (delay: Millis, fraction: number, seed: string): Millis =>
  Math.max(0, Math.round(delay * (1 + fraction * (2 * unitHash(seed) - 1))));

/** Fails at the first failure. */
export const noRetry: RetryPolicy = { limit: 0, delay: () => 0 };

/** Exponential delays, spread by `jitter` (default 0.1). The seed names run and step. */
export function exponentialRetry(
  p: Exponential & { readonly limit: number; readonly seed: string; readonly jitter?: number },
  retryable?: RetryPolicy["retryable"],
): RetryPolicy {
  const fraction = p.jitter ?? 0.1;
  const delay = (n: number) => jittered(exponential(n, p), fraction, `${p.seed}/${n}`);
  return { limit: p.limit, delay, ...(retryable === undefined ? {} : { retryable }) };
}
