import type { Millis, Random } from "#lib/base/index.ts";
import { exponential } from "#engine/index.ts";

const first: Millis = 500;
const longest: Millis = 15_000;
const jitter = 0.2;

/**
 * How long to wait after so many failures in a row, from 1 on: half a second, doubled each time, at most 15 s, and a fifth more or less, so
 * that a rack of machines does not come back in one moment.
 */
export function retryDelay(failures: number, random: Random): Millis {
  const even = exponential(failures, { base: first, factor: 2, cap: longest });
  return Math.round(even * (1 - jitter + 2 * jitter * random()));
}
