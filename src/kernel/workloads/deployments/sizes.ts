// How many Pods each set of a Deployment is to have. Pure arithmetic on what the sets want (`spec.replicas`) and what
// they say is there (`status`), after Kubernetes' deployment controller (kubernetes/kubernetes,
// pkg/controller/deployment).
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

export type OwnedSet = Stored<ReplicaSetObject>;

/** A Deployment with the set of its current template, if it exists, and the others, oldest first. */
export interface Rollout {
  readonly deployment: Stored<DeploymentObject>;
  readonly current: OwnedSet | undefined;
  readonly old: readonly OwnedSet[];
}

export interface Resize {
  readonly set: OwnedSet;
  readonly replicas: number;
}

export const replicasOf = ({ spec }: ReplicaSetObject | DeploymentObject): number => spec.replicas ?? 1;
/** As of the set's last status. */
export const availableOf = ({ status }: ReplicaSetObject): number => status?.availableReplicas ?? 0;
export const bornAt = ({ metadata }: OwnedSet): Instant => parseInstant(metadata.creationTimestamp) ?? 0;
export const allSets = ({ current, old }: Rollout): readonly OwnedSet[] =>
  current === undefined ? old : [...old, current];

export const sum = <T>(items: readonly T[], count: (item: T) => number): number =>
  items.reduce((total, item) => total + count(item), 0);

/** Whether `spec.replicas` has changed since the sets were last scaled. */
export const isResized = (rollout: Rollout): boolean =>
  allSets(rollout).some((set) => {
    const before = desiredBefore(set);
    return replicasOf(set) > 0 && before !== undefined && before !== replicasOf(rollout.deployment);
  });

export function firstSize({ deployment, old }: Rollout): number {
  const wanted = replicasOf(deployment);
  if (deployment.spec.strategy?.type === "Recreate") return wanted;
  const room = wanted + rolloutBudget(deployment).surge - sum(old, replicasOf);
  return Math.max(0, Math.min(wanted, room));
}

/** One rolling step: the new set grows if there is room, else old sets shrink, unavailable Pods first. */
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

/** Removes unavailable Pods first. Those of the new set count as missing: a broken template must not end old Pods. */
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

export const emptyOld = ({ old }: Rollout): readonly Resize[] =>
  old.filter((set) => replicasOf(set) > 0).map((set) => ({ set, replicas: 0 }));

/** Applies a change of `spec.replicas`: one set takes all; a finished rollout empties old sets, else they share. */
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

/** The set runs the Deployment alone: it has its size, and all Pods are available. */
export const isSaturated = (deployment: Stored<DeploymentObject>, set: OwnedSet): boolean => {
  const wanted = replicasOf(deployment);
  return replicasOf(set) === wanted && desiredBefore(set) === wanted && availableOf(set) === wanted;
};

function shares(deployment: Stored<DeploymentObject>, active: readonly OwnedSet[]): readonly Resize[] {
  const wanted = replicasOf(deployment);
  const allowed = wanted === 0 ? 0 : wanted + rolloutBudget(deployment).surge;
  const change = allowed - sum(active, replicasOf);
  // The largest set takes most; of equal ones the newer grows and the older shrinks.
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
  // The rest of the rounding goes to the largest set.
  const [first] = sorted;
  if (first !== undefined) sizes.set(first, Math.max(0, (sizes.get(first) ?? 0) + left));
  return [...sizes].map(([set, replicas]) => ({ set, replicas }));
}

function shareOf(deployment: DeploymentObject, set: OwnedSet, wanted: number, allowed: number): number {
  const size = replicasOf(set);
  if (wanted === 0) return -size;
  const before = mostBefore(set) ?? deployment.status?.replicas ?? 0;
  return before === 0 ? 0 : Math.round((size * allowed) / before) - size;
}

const resizes = (sizes: ReadonlyMap<OwnedSet, number>): readonly Resize[] =>
  [...sizes].filter(([set, replicas]) => replicas !== replicasOf(set)).map(([set, replicas]) => ({ set, replicas }));
