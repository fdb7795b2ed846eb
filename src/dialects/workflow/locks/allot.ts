import { compareBytes } from "#engine/index.ts";
import { type Claim, holderKey } from "./claims.ts";
import type { ConcurrencyLimit } from "./kind.ts";

/** What a claim gets now: all that it lacks. */
export interface Allotment {
  readonly claim: Claim;
  /** The limits to be taken, in the order of taking. */
  readonly missing: readonly string[];
}

/** How a limit stands. */
export interface LimitState {
  /** Places in all; 0 for one that is going. */
  readonly places: number;
  readonly taken: number;
  readonly holds: (key: string) => boolean;
}

/** Who comes first: the higher priority, the older Workflow, the lower uid; within one Workflow its own order. */
export const compareClaims = (a: Claim, b: Claim): number =>
  b.priority - a.priority ||
  compareBytes(a.createdAt, b.createdAt) ||
  compareBytes(a.holder.uid, b.holder.uid) ||
  compareBytes(a.holder.step ?? "", b.holder.step ?? "") ||
  (a.holder.item ?? 0) - (b.holder.item ?? 0);

/**
 * Which claims, given in their order, can have all they lack. A claim that cannot keeps a place in each of its limits all the same: what
 * comes behind it does not overtake it there. So nobody starves, and since the first claim of all is kept from nothing but by holders
 * that run, somebody always moves. O(claims x limits of each).
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

/** A key of concurrency has no limit but that of whoever asks. */
const placesFor = ({ most }: Claim, { places }: LimitState): number =>
  most === undefined || places === 0 ? places : most;

/** By stored version, which never changes. */
const keysOfHolders = new WeakMap<ConcurrencyLimit, ReadonlySet<string>>();

function keysIn(limit: ConcurrencyLimit): ReadonlySet<string> {
  const found = keysOfHolders.get(limit) ?? new Set((limit.status?.holders ?? []).map(holderKey));
  keysOfHolders.set(limit, found);
  return found;
}

/** Whether a holder stands in the status of a limit. */
export const isHolder = (limit: ConcurrencyLimit | undefined, key: string): boolean =>
  limit !== undefined && keysIn(limit).has(key);

/** A limit that nobody has written has one place. */
export function limitState(limit: ConcurrencyLimit | undefined): LimitState {
  if (limit === undefined) return { places: 1, taken: 0, holds: () => false };
  const isGoing = limit.metadata.deletionTimestamp !== undefined;
  const keys = keysIn(limit);
  return { places: isGoing ? 0 : limit.spec.limit, taken: keys.size, holds: (key) => keys.has(key) };
}
