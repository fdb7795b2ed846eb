import { sleep } from "./abort.ts";
import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";
import type { Millis } from "./time.ts";

/** The series of delays: `first`, `first * factor`, … up to `longest`. */
export interface BackoffOptions {
  readonly first: Millis;
  /** Without it, delays grow without a bound: for a few tries only. */
  readonly longest?: Millis;
  /** Default 2. */
  readonly factor?: number;
  /** The random share added to each delay, so that clients that failed together do not retry together. */
  readonly jitter?: number;
  /** Required with `jitter`. */
  readonly random?: Random;
}

/** The delay in whole milliseconds after so many failures; 0 for none. `longest` bounds it before jitter. */
export function backoffDelay(failures: number, options: BackoffOptions): Millis {
  const { first, longest = Number.POSITIVE_INFINITY, factor = 2, jitter = 0, random = () => 0 } = options;
  if (failures < 1) return 0;
  return Math.round(Math.min(longest, first * factor ** (failures - 1)) * (1 + jitter * random()));
}

export interface RetryOptions extends BackoffOptions {
  readonly clock: Clock;
  /** The last try's failure is the caller's. */
  readonly tries?: number;
  readonly signal?: AbortSignal | undefined;
  /** Default: every failure. */
  readonly isRetryable?: (thrown: unknown) => boolean;
}

/** Runs `run` until it succeeds, with growing pauses; rejects with the last failure, or with the signal's reason. */
export async function retry<T>(options: RetryOptions, run: (attempt: number) => Promise<T>): Promise<T> {
  const { clock, signal, tries = Number.POSITIVE_INFINITY, isRetryable = () => true } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      return await run(attempt);
    } catch (thrown) {
      if (attempt >= tries || !isRetryable(thrown)) throw thrown;
    }
    await sleep(clock, backoffDelay(attempt, options), signal);
  }
}
