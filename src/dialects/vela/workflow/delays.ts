import type { Millis } from "#lib/base/index.ts";

const second: Millis = 1_000;

/** Exceeds every cap long before it overflows. */
const longestExponent = 40;

/** The pause after the n-th unproductive execution, from 1: `int(0.05 * 2^(n-1))` seconds, at least 1, at most the cap. */
export function waitDelay(n: number, cap: Millis): Millis {
  const exponent = Math.min(longestExponent, Math.max(0, n - 1));
  return Math.max(second, Math.min(cap, Math.trunc(0.05 * 2 ** exponent) * second));
}

export interface WorkflowSettings {
  /** Cap of delays while steps wait. */
  readonly maxWaitBackoff: Millis;
  /** Cap of delays while some step is failed. */
  readonly maxFailedBackoff: Millis;
  /** Retries of a step after its first failure. */
  readonly maxErrorRetries: number;
  /** Suspends the run instead of terminating it when retries are used up. */
  readonly suspendOnFailure: boolean;
  /** Of steps without a timeout; absent: unlimited. */
  readonly defaultTimeout?: Millis;
  /** How long a succeeded step waits for its outputs. */
  readonly outputTimeout: Millis;
}

export const defaultSettings: WorkflowSettings = {
  maxWaitBackoff: 60 * second,
  maxFailedBackoff: 300 * second,
  maxErrorRetries: 10,
  suspendOnFailure: false,
  outputTimeout: 600 * second,
};
