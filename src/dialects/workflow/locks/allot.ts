import { getOrAdd } from "#lib/base/index.ts";
import { compareBytes } from "#engine/index.ts";
import { type Claim, holderKey } from "./claims.ts";
import type { ConcurrencyLimit } from "./kind.ts";

export interface Allotment {
  readonly claim: Claim;
  readonly missing: readonly string[];
}

export interface LimitState {
  /** 0 for a limit being deleted. */
  readonly places: number;
  readonly taken: number;
  readonly holds: (key: string) => boolean;
}

/** Higher priority, older Workflow, lower uid; within a Workflow its own order. */
export const compareClaims = (a: Claim, b: Claim): number =>
  b.priority - a.priority ||
  compareBytes(a.createdAt, b.createdAt) ||
  compareBytes(a.holder.uid, b.holder.uid) ||
  compareBytes(a.holder.step ?? "", b.holder.step ?? "") ||
  (a.holder.item ?? 0) - (b.holder.item ?? 0);

/**
 * The claims, in order, that can get everything they lack. A waiting claim reserves a place in each of its limits, so
 * that nobody overtakes it: no starvation, and the first claim waits only for running holders. O(claims x limits of
 * each).
 */
export function allot(claims: readonly Claim[], stateOf: (limit: string) => LimitState): readonly Allotment[] {
  const used = new Map<string, number>();
  const found: Allotment[] = [];
  for (const claim of claims) {
    const key = holderKey(claim.holder);
    const missing = claim.limits.filter((name) => !stateOf(name).holds(key));
    if (missing.length === 0) continue;
    const usedOf = (name: string): number => used.get(name) ?? stateOf(name).taken;
    if (missing.every((name) => usedOf(name) < placesFor(claim, stateOf(name)))) found.push({ claim, missing });
    for (const name of missing) used.set(name, usedOf(name) + 1);
  }
  return found;
}

/** The limit of a concurrency key is the claim's own. */
const placesFor = ({ most }: Claim, { places }: LimitState): number =>
  most === undefined || places === 0 ? places : most;

/** Stored versions never change. */
const keysOfHolders = new WeakMap<ConcurrencyLimit, ReadonlySet<string>>();

function keysIn(limit: ConcurrencyLimit): ReadonlySet<string> {
  return getOrAdd(keysOfHolders, limit, () => new Set((limit.status?.holders ?? []).map(holderKey)));
}

export const isHolder = (limit: ConcurrencyLimit | undefined, key: string): boolean =>
  limit !== undefined && keysIn(limit).has(key);

/** An unwritten limit has one place. */
export function limitState(limit: ConcurrencyLimit | undefined): LimitState {
  if (limit === undefined) return { places: 1, taken: 0, holds: () => false };
  const isGoing = limit.metadata.deletionTimestamp !== undefined;
  const keys = keysIn(limit);
  return { places: isGoing ? 0 : limit.spec.limit, taken: keys.size, holds: (key) => keys.has(key) };
}
