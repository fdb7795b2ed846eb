import { adoptable, wakeAtFirst } from "../workload-controller.ts";
import { isTerminating } from "../pod-types.ts";
// Kubernetes' StatefulSet controller (kubernetes/kubernetes, pkg/controller/statefulset) as a pure function.

import { isActive, isReady } from "#kernel/workloads/pod-types.ts";
import { type Instant, type Millis, parseInstant } from "#lib/base/index.ts";
import { type Waking } from "#kernel/kit/index.ts";
import { controllerOf, type Stored } from "#kernel/model/index.ts";
import { availability } from "../replicasets/plan-replica-set.ts";
import { readySince, type ReplicaPod } from "../replicasets/replica-pod.ts";
import { revisionLabel, type StatefulSetObject, type StatefulSetStatus } from "../stateful-set-types.ts";
import { ordinalOf } from "./stateful-pod.ts";

/** What a StatefulSet needs now. May be carried out again after a crash at any point. */
export interface StatefulSetPlan extends Waking {
  readonly adopt: readonly ReplicaPod[];
  readonly create: readonly { readonly ordinal: number; readonly revision: string }[];
  readonly remove: readonly ReplicaPod[];
  /** Those of `remove` whose ordinals are no longer wanted. */
  readonly condemned: readonly ReplicaPod[];
  readonly status: StatefulSetStatus;
}

/** Names of the former and the current revision; equal if no update is in progress. */
export interface Revisions {
  readonly current: string;
  readonly update: string;
}

/** A Pod that has ended was refused or evicted: it is replaced this long after its creation. */
const pauseAfterFailure: Millis = 5_000;
const revisionOf = ({ metadata }: ReplicaPod): string | undefined => metadata.labels?.[revisionLabel];
const isHealthy = (pod: ReplicaPod): boolean => isActive(pod) && isReady(pod);

/** `pods` are the controlled and adopted ones, by ordinal. */
interface Survey {
  readonly set: Stored<StatefulSetObject>;
  readonly pods: ReadonlyMap<number, ReplicaPod>;
  readonly revisions: Revisions;
  readonly first: number;
  readonly wanted: number;
  readonly partition: number;
  readonly isOrdered: boolean;
  readonly now: Instant;
}

/**
 * Decides what to do for a StatefulSet. Pure. `pods` are the Pods of its namespace that it controls or that have no
 * controller. With `OrderedReady` a pass makes one move: the lowest missing ordinal is created when all before it are
 * available, then the highest surplus one is removed, then one Pod of a former template is replaced, from the highest
 * ordinal down.
 */
export function planStatefulSet(
  set: Stored<StatefulSetObject>,
  pods: readonly ReplicaPod[],
  revisions: Revisions,
  now: Instant,
): StatefulSetPlan {
  const isGoing = set.metadata.deletionTimestamp !== undefined;
  const adopt = adoptable(set, pods).filter((pod) => isActive(pod) && ordinalOf(set, pod) !== undefined);
  const mine = [...pods.filter((pod) => controllerOf(pod)?.uid === set.metadata.uid), ...adopt];
  const { replicas = 1, ordinals, podManagementPolicy, updateStrategy, minReadySeconds = 0 } = set.spec;
  const survey: Survey = {
    set,
    pods: new Map(mine.flatMap((pod) => entryOf(set, pod))),
    revisions,
    first: ordinals?.start ?? 0,
    wanted: replicas,
    partition: updateStrategy?.rollingUpdate?.partition ?? 0,
    isOrdered: podManagementPolicy !== "Parallel",
    now,
  };
  const status = statusOf(survey);
  const { next } = availability(mine, minReadySeconds * 1000, now);
  const moves = isGoing ? none : movesOf(survey);
  return { adopt, ...moves, status, ...wakeAtFirst(next, moves.wakeAt) };
}

type Moves = Pick<StatefulSetPlan, "create" | "remove" | "condemned" | "wakeAt">;
const none: Moves = { create: [], remove: [], condemned: [] };

const entryOf = (set: StatefulSetObject, pod: ReplicaPod): readonly (readonly [number, ReplicaPod])[] => {
  const ordinal = ordinalOf(set, pod);
  return ordinal === undefined ? [] : [[ordinal, pod]];
};

function movesOf(survey: Survey): Moves {
  const started = startMoves(survey);
  if (survey.isOrdered && started.isBlocked) return started.moves;
  const condemned = stopMoves(survey);
  if (survey.isOrdered && condemned !== undefined) return { ...started.moves, remove: condemned, condemned };
  const replaced = started.moves.create.length > 0 ? [] : updateMoves(survey);
  const remove = new Set([...started.moves.remove, ...(condemned ?? []), ...replaced]);
  return { ...started.moves, remove: [...remove], condemned: condemned ?? [] };
}

/** Creates missing Pods and removes ended ones. Blocked: not all of them are available. */
function startMoves(survey: Survey): { readonly moves: Moves; readonly isBlocked: boolean } {
  const { pods, first, wanted, isOrdered, now } = survey;
  const create: { readonly ordinal: number; readonly revision: string }[] = [];
  const remove: ReplicaPod[] = [];
  let wakeAt: Instant | undefined;
  let isBlocked = false;
  for (let ordinal = first; ordinal < first + wanted; ordinal++) {
    if (isOrdered && isBlocked) break;
    const pod = pods.get(ordinal);
    isBlocked ||= pod === undefined || !isAvailable(survey, pod);
    if (pod === undefined) create.push({ ordinal, revision: revisionAt(survey, ordinal) });
    else if (!isActive(pod) && !isTerminating(pod)) {
      const at = (parseInstant(pod.metadata.creationTimestamp) ?? 0) + pauseAfterFailure;
      if (at <= now) remove.push(pod);
      else wakeAt = Math.min(wakeAt ?? at, at);
    }
  }
  return { moves: { create, remove, condemned: [], ...(wakeAt === undefined ? {} : { wakeAt }) }, isBlocked };
}

const revisionAt = ({ set, first, partition, revisions }: Survey, ordinal: number): string =>
  set.spec.updateStrategy?.type !== "OnDelete" && ordinal < first + partition ? revisions.current : revisions.update;

function isAvailable({ set, now }: Survey, pod: ReplicaPod): boolean {
  const since = readySince(pod);
  return isActive(pod) && since !== undefined && since + (set.spec.minReadySeconds ?? 0) * 1000 <= now;
}

/** Surplus Pods from the highest ordinal, if ordered one at a time. Unlike in Kubernetes, broken Pods never stop it. */
function stopMoves({ pods, first, wanted, isOrdered }: Survey): readonly ReplicaPod[] | undefined {
  const surplus = [...pods]
    .filter(([ordinal]) => ordinal < first || ordinal >= first + wanted)
    .toSorted(([a], [b]) => b - a)
    .map(([, pod]) => pod);
  if (surplus.length === 0) return undefined;
  return (isOrdered ? surplus.slice(0, 1) : surplus).filter((pod) => !isTerminating(pod));
}

/** One Pod at a time, from the highest ordinal down to the partition, while all above it are healthy. */
function updateMoves({ set, pods, first, wanted, partition, revisions }: Survey): readonly ReplicaPod[] {
  if (set.spec.updateStrategy?.type === "OnDelete") return [];
  for (let ordinal = first + wanted - 1; ordinal >= first + partition; ordinal--) {
    const pod = pods.get(ordinal);
    if (pod === undefined) return [];
    if (revisionOf(pod) !== revisions.update && !isTerminating(pod)) return [pod];
    if (!isHealthy(pod)) return [];
  }
  return [];
}

function statusOf(survey: Survey): StatefulSetStatus {
  const { set, pods, revisions, wanted, now } = survey;
  const all = [...pods.values()];
  const ofRevision = (name: string): number =>
    all.filter((pod) => !isTerminating(pod) && revisionOf(pod) === name).length;
  const readyReplicas = all.filter((pod) => isReady(pod)).length;
  const updatedReplicas = ofRevision(revisions.update);
  // The update is complete: its template is now the current one of every ordinal.
  const isComplete = updatedReplicas === all.length && readyReplicas === all.length && all.length === wanted;
  const current = isComplete && set.spec.updateStrategy?.type !== "OnDelete" ? revisions.update : revisions.current;
  const currentReplicas = ofRevision(current);
  const { generation } = set.metadata;
  const { count } = availability(all, (set.spec.minReadySeconds ?? 0) * 1000, now);
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    replicas: all.length,
    availableReplicas: count,
    ...(readyReplicas === 0 ? {} : { readyReplicas }),
    ...(currentReplicas === 0 ? {} : { currentReplicas }),
    ...(updatedReplicas === 0 ? {} : { updatedReplicas }),
    currentRevision: current,
    updateRevision: revisions.update,
    collisionCount: set.status?.collisionCount ?? 0,
  };
}
