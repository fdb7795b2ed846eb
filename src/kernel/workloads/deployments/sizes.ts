// How many Pods each set of a Deployment is to have. Pure arithmetic on what the sets want (`spec.replicas`) and what they say is
// there (`status`), after Kubernetes' deployment controller (kubernetes/kubernetes, pkg/controller/deployment).
//
//              wanted - unavailable  <=  available Pods
//              Pods of all sets      <=  wanted + surge
//
// hold at every moment of a rolling update, whatever Pods do: `rollout.prop.test.ts` plays it through.

import { type Instant, parseInstant } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { DeploymentObject, ReplicaSetObject } from "../deployment-types.ts";
import { desiredBefore, mostBefore } from "./revisions.ts";
import { rolloutBudget } from "./rollout-budget.ts";

/** A ReplicaSet of a Deployment. */
export type OwnedSet = Stored<ReplicaSetObject>;

/** A Deployment with its sets: the one of its present template, if there is one, and the others, oldest first. */
export interface Rollout {
  readonly deployment: Stored<DeploymentObject>;
  readonly current: OwnedSet | undefined;
  readonly old: readonly OwnedSet[];
}

/** That a set is to have so many Pods. */
export interface Resize {
  readonly set: OwnedSet;
  readonly replicas: number;
}

/** Pods that are wanted; 1 when nothing is said, as for Kubernetes. */
export const replicasOf = ({ spec }: ReplicaSetObject | DeploymentObject): number => spec.replicas ?? 1;
/** Pods that count, by what the set said last; it may be a moment behind its Pods, never ahead of what was written. */
export const availableOf = ({ status }: ReplicaSetObject): number => status?.availableReplicas ?? 0;
/** Whole seconds: two sets of one second are told apart by name. */
export const bornAt = ({ metadata }: OwnedSet): Instant => parseInstant(metadata.creationTimestamp) ?? 0;
export const allSets = ({ current, old }: Rollout): readonly OwnedSet[] =>
  current === undefined ? old : [...old, current];

export const sum = <T>(items: readonly T[], count: (item: T) => number): number =>
  items.reduce((total, item) => total + count(item), 0);

/** Has the number of replicas been changed since the sets were last scaled? A change of the template alone leaves them alone. */
export const isResized = (rollout: Rollout): boolean =>
  allSets(rollout).some((set) => {
    const before = desiredBefore(set);
    return replicasOf(set) > 0 && before !== undefined && before !== replicasOf(rollout.deployment);
  });

/** Pods a new set starts with: all of them, or as many as there is room for beside the old ones. */
export function firstSize({ deployment, old }: Rollout): number {
  const wanted = replicasOf(deployment);
  if (deployment.spec.strategy?.type === "Recreate") return wanted;
  const room = wanted + rolloutBudget(deployment).surge - sum(old, replicasOf);
  return Math.max(0, Math.min(wanted, room));
}

/**
 * One step of a rolling update: the new set grows as far as there is room, or else old sets shrink as far as availability allows;
 * none when the update waits for Pods or is done. Pods of old sets that are not available go first: nobody misses them.
 */
export function rollingStep(rollout: Rollout): readonly Resize[] {
  const { deployment, current } = rollout;
  if (current === undefined) return [];
  const wanted = replicasOf(deployment);
  const size = replicasOf(current);
  if (size > wanted) return [{ set: current, replicas: wanted }];
  const room = wanted + rolloutBudget(deployment).surge - sum(allSets(rollout), replicasOf);
  const growth = Math.min(room, wanted - size);
  return growth > 0 ? [{ set: current, replicas: size + growth }] : shrinkOld(rollout, current);
}

/**
 * Old sets give up what the new one has replaced: first Pods that are not available, then as many available ones as are above the
 * least there must be. Pods of the new set that are not available yet count as missing, or a broken template would end the old Pods.
 */
function shrinkOld({ deployment, old, ...rest }: Rollout, current: OwnedSet): readonly Resize[] {
  const least = replicasOf(deployment) - rolloutBudget(deployment).unavailable;
  const all = allSets({ deployment, old, ...rest });
  const missingOfCurrent = Math.max(0, replicasOf(current) - availableOf(current));
  let spare = sum(all, replicasOf) - least - missingOfCurrent;
  const sizes = new Map(old.map((set) => [set, replicasOf(set)]));
  const shrink = (set: OwnedSet, most: number): number => {
    const count = Math.max(0, Math.min(most, sizes.get(set) ?? 0));
    sizes.set(set, (sizes.get(set) ?? 0) - count);
    return count;
  };
  for (const set of old) spare -= shrink(set, Math.min(spare, replicasOf(set) - availableOf(set)));
  let surplus = Math.min(spare, sum(all, availableOf) - least);
  for (const set of old) surplus -= shrink(set, surplus);
  return resizes(sizes);
}

/** All old sets at once to nothing, as a Recreate and a finished rollout do. */
export const emptyOld = ({ old }: Rollout): readonly Resize[] =>
  old.filter((set) => replicasOf(set) > 0).map((set) => ({ set, replicas: 0 }));

/**
 * What a change of `spec.replicas` means for the sets there are. A single one takes it all; after a finished rollout the old ones
 * are emptied; in the middle of one each gets its share, so that old and new Pods keep their proportion.
 */
export function proportionalSizes(rollout: Rollout): readonly Resize[] {
  const { deployment, current, old } = rollout;
  const wanted = replicasOf(deployment);
  const active = allSets(rollout).filter((set) => replicasOf(set) > 0);
  const only = active.length > 1 ? undefined : (active[0] ?? current ?? old.at(-1));
  if (only !== undefined) return [{ set: only, replicas: wanted }];
  if (current !== undefined && isSaturated(deployment, current)) return emptyOld(rollout);
  if (deployment.spec.strategy?.type === "Recreate") return [];
  return shares(deployment, active);
}

/** The set carries the Deployment alone: it has its size, knows it, and all of its Pods are available. */
export const isSaturated = (deployment: Stored<DeploymentObject>, set: OwnedSet): boolean => {
  const wanted = replicasOf(deployment);
  return replicasOf(set) === wanted && desiredBefore(set) === wanted && availableOf(set) === wanted;
};

/** Splits a change of size over several sets by their sizes; sums to the change exactly. */
function shares(deployment: Stored<DeploymentObject>, active: readonly OwnedSet[]): readonly Resize[] {
  const wanted = replicasOf(deployment);
  const allowed = wanted === 0 ? 0 : wanted + rolloutBudget(deployment).surge;
  const change = allowed - sum(active, replicasOf);
  // The largest takes most; of equal ones the newer grows and the older shrinks.
  const age = (a: OwnedSet, b: OwnedSet) => (change > 0 ? bornAt(b) - bornAt(a) : bornAt(a) - bornAt(b));
  const sorted = [...active].sort((a, b) => replicasOf(b) - replicasOf(a) || age(a, b));
  let left = change;
  const sizes = new Map<OwnedSet, number>();
  for (const set of sorted) {
    const share = shareOf(deployment, set, wanted, allowed);
    const taken = left > 0 ? Math.min(Math.max(share, 0), left) : Math.max(Math.min(share, 0), left);
    left -= taken;
    sizes.set(set, replicasOf(set) + taken);
  }
  // What rounding leaves over goes to the largest.
  const [first] = sorted;
  if (first !== undefined) sizes.set(first, Math.max(0, (sizes.get(first) ?? 0) + left));
  return [...sizes].map(([set, replicas]) => ({ set, replicas }));
}

/** By how much a set changes when the whole grows from what it could be at most then to what it may be now. */
function shareOf(deployment: DeploymentObject, set: OwnedSet, wanted: number, allowed: number): number {
  const size = replicasOf(set);
  if (wanted === 0) return -size;
  const before = mostBefore(set) ?? deployment.status?.replicas ?? 0;
  return before === 0 ? 0 : Math.round((size * allowed) / before) - size;
}

/** Only what changes. */
const resizes = (sizes: ReadonlyMap<OwnedSet, number>): readonly Resize[] =>
  [...sizes].filter(([set, replicas]) => replicas !== replicasOf(set)).map(([set, replicas]) => ({ set, replicas }));
