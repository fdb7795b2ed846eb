// Explanations of cached step results; printed as they are by `-o json`.

import type { Stored } from "#kernel/model/index.ts";

export interface CachedResult {
  readonly name: string;
  readonly workflow: string;
  readonly step: string;
  readonly item?: number;
  readonly storedTime: string;
}

/** An input that differs. Absent members: there is, or was, no such field. */
export interface InputChange {
  readonly field: string;
  readonly was?: string;
  readonly is?: string;
}

/** Whether a step finds a stored result, and if not, what differs. */
export interface CacheExplanation {
  readonly step: string;
  readonly item?: number;
  /** Name of the entry its result has, or would have. */
  readonly name: string;
  /** `hit`: the step uses, or would use, an entry. `stale`: it may not use the entry. */
  readonly outcome: "hit" | "stale" | "miss";
  readonly message: string;
  readonly entry?: CachedResult;
  /** On a miss: the step's other result with the fewest differences. */
  readonly nearest?: CachedResult;
  readonly changes: readonly InputChange[];
}

export interface CacheQuestion {
  readonly step: string;
  /** Index of a fan-out's item; default: 0. */
  readonly item?: number;
  readonly entries: readonly Stored[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}
