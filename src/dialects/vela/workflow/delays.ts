import type { Millis } from "#lib/base/index.ts";
import type { Settings } from "../settings.ts";

const second: Millis = 1_000;

/** Exceeds every cap long before it overflows. */
const longestExponent = 40;

/** The pause after the n-th unproductive execution: `int(0.05 * 2^(n-1))` seconds, at least 1, at most the cap. */
export function waitDelay(n: number, cap: Millis): Millis {
  const exponent = Math.min(longestExponent, Math.max(0, n - 1));
  return Math.max(second, Math.min(cap, Math.trunc(0.05 * 2 ** exponent) * second));
}

/** What decides how steps are repeated. */
export type WorkflowSettings = Pick<
  Settings,
  | "maxWaitBackoff"
  | "maxFailedBackoff"
  | "maxErrorRetries"
  | "suspendOnFailure"
  | "outputWaitTimeout"
  | "defaultStepTimeout"
  | "egressDeny"
  | "systemDefinitionNamespace"
>;
