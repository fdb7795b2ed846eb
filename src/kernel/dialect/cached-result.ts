// What the command line asks a dialect about results of steps, and what it is answered: data that is printed as it is by `-o json`.

import type { Stored } from "#kernel/model/index.ts";

/** A result that is stored, by where it is from. */
export interface CachedResult {
  /** Name of the entry. */
  readonly name: string;
  readonly workflow: string;
  readonly step: string;
  readonly item?: number;
  readonly storedTime: string;
}

/** One input of a step, by its field, that is not what it was. Absent: there is, or was, no such field. */
export interface InputChange {
  readonly field: string;
  /** In the other result. */
  readonly was?: string;
  /** In this run. */
  readonly is?: string;
}

/** Whether a step finds a result that is stored, and if not, what is different. */
export interface CacheExplanation {
  readonly step: string;
  readonly item?: number;
  /** Name of the entry its result has, or would have. */
  readonly name: string;
  /** `hit`: the step has taken an entry, or would take one. `stale`: there is one that it may not take. */
  readonly outcome: "hit" | "stale" | "miss";
  /** Why, in words. */
  readonly message: string;
  /** The entry of this name, if there is one. */
  readonly entry?: CachedResult;
  /** On a miss: of the other results of the step, the one with the fewest different inputs. */
  readonly nearest?: CachedResult;
  /** What is different from the nearest. */
  readonly changes: readonly InputChange[];
}

/** What is asked about a step, and the entries that are there. */
export interface CacheQuestion {
  readonly step: string;
  /** Index of an item of a fan-out; 0 when absent. */
  readonly item?: number;
  /** Entries of the run's namespace. */
  readonly entries: readonly Stored[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}
