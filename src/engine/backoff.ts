import { unitHash } from "./hash.ts";
import type { RetryPolicy } from "./plan.ts";
import type { Millis } from "./values.ts";

// `n` is the number of failures (rejections, waiting passes) so far, from 1. Every result is an integer from 0 to the cap.

export interface Exponential {
  readonly base: Millis;
  readonly factor: number;
  readonly cap: Millis;
}

/**
 * `min(cap, base * factor^(n-1))`, rounded down. A factor below 1 counts as 1, so delays never shrink. Exact for any n:
 * the power is compared with the cap before it could overflow.
 */
export function exponential(n: number, { base, factor, cap }: Exponential): Millis {
  if (!(base > 0) || !(cap > 0)) return 0;
  if (base >= cap) return Math.floor(cap);
  if (!(factor > 1)) return Math.floor(base);
  const exponent = Math.max(0, n - 1);
  // The power overflows to Infinity at worst, and the smaller of it and the cap is the cap.
  return Math.floor(Math.min(cap, base * factor ** exponent));
}

/** Vela's wait between passes: `clamp(trunc(0.05 * 2^(n-1)), 1, cap)` seconds. 1 1 1 1 1 1 3 6 12 25 51 60 60 ... */
export const velaWait = (n: number, capSeconds = 60): Millis =>
  Math.max(1, Math.min(capSeconds, Math.trunc(0.05 * 2 ** Math.max(0, n - 1)))) * 1000;

/** Vela's wait when a step is failed: the same curve up to 300 seconds. */
export const velaFailed = (n: number): Millis => velaWait(n, 300);

/** Vela gives a step up after this many errors. */
export const velaErrorLimit = 10;

/** For a run that an agent rejected: 5 10 20 40 80 160 300 seconds. */
export const rejectDelay = (n: number, p: Omit<Exponential, "factor"> = { base: 5_000, cap: 300_000 }): Millis =>
  exponential(n, { ...p, factor: 2 });

/** Pods of a Job: 10 20 40 80 160 320 360 seconds; n starts again at 1 after a success. */
export const jobPod = (n: number): Millis => exponential(n, { base: 10_000, factor: 2, cap: 360_000 });

/** How far each curve is spread by default. */
export const jitterFractions = { exponential: 0.1, vela: 0, reject: 0.2 } as const;

/**
 * Spreads a delay by plus or minus `fraction` of it. The seed (`uid/step/n`) decides: the same one always gives the same
 * delay, different ones spread out. Rounded to whole milliseconds, never negative.
 */
export const jittered = (delay: Millis, fraction: number, seed: string): Millis =>
  Math.max(0, Math.round(delay * (1 + fraction * (2 * unitHash(seed) - 1))));

/** Fails at the first failure. */
export const noRetry: RetryPolicy = { limit: 0, delay: () => 0 };

/** Retries with `exponential` pauses, spread by `jitter` (default 0.1) around a seed that names the run and the step. */
export function exponentialRetry(
  p: Exponential & { readonly limit: number; readonly seed: string; readonly jitter?: number },
  retryable?: RetryPolicy["retryable"],
): RetryPolicy {
  const fraction = p.jitter ?? jitterFractions.exponential;
  const delay = (n: number) => jittered(exponential(n, p), fraction, `${p.seed}/${n}`);
  return { limit: p.limit, delay, ...(retryable === undefined ? {} : { retryable }) };
}
