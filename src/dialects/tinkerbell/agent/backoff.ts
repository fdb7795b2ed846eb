import type { Millis, Random } from "#lib/base/index.ts";
import { exponential } from "#engine/index.ts";

const first: Millis = 500;
const longest: Millis = 15_000;
const jitter = 0.2;

/** Delay after consecutive failures: 0.5 s, doubled up to 15 s, plus or minus 20% so that a rack spreads. */
export function retryDelay(failures: number, random: Random): Millis {
  const even = exponential(failures, { base: first, factor: 2, cap: longest });
  return Math.round(even * (1 - jitter + 2 * jitter * random()));
}
