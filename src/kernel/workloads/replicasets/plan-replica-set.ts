import { adoptable, matcherOf, wakeAtFirst } from "../workload-controller.ts";
import { isFinished, isTerminating } from "../pod-types.ts";
// Kubernetes' ReplicaSet controller (kubernetes/kubernetes, pkg/controller/replicaset) as a pure function, except for
// the pause after failures.

import { isActive, isReady } from "#kernel/workloads/pod-types.ts";
import { type Instant, type Millis, parseInstant } from "#lib/base/index.ts";
import { type Waking } from "#kernel/kit/index.ts";
import { controllerOf, type Stored } from "#kernel/model/index.ts";
import type { ReplicaSetObject, ReplicaSetStatus } from "../deployment-types.ts";
import { byWorth, readySince, type ReplicaPod } from "./replica-pod.ts";

/** What a ReplicaSet needs now. May be carried out again after a crash at any point. */
export interface ReplicaSetPlan extends Waking {
  readonly adopt: readonly ReplicaPod[];
  /** Controlled Pods that no longer match: a person has changed their labels to look at them. */
  readonly letGo: readonly ReplicaPod[];
  readonly create: number;
  readonly remove: readonly ReplicaPod[];
  readonly status: ReplicaSetStatus;
}

/** A pass creates or ends no more, so that a large set does not hold up others. */
export const mostAtOnce = 500;
const failuresKept = 3;
/** Multiplied by four for each further failure that is kept: 1, 4, 16, then 64 seconds. */
const firstDelay: Millis = 1000;

/**
 * Decides what to do for a ReplicaSet. Pure. `pods` are the Pods of its namespace that it controls or that have no
 * controller. Its Pods restart for ever, so one that has ended was refused or evicted: the next is created after a
 * growing pause. (Kubernetes creates them as fast as it can.)
 */
export function planReplicaSet(
  set: Stored<ReplicaSetObject>,
  pods: readonly ReplicaPod[],
  now: Instant,
): ReplicaSetPlan {
  const { uid, deletionTimestamp, generation } = set.metadata;
  const { replicas: wanted = 1, minReadySeconds = 0, template } = set.spec;
  const matches = matcherOf(set.spec.selector);
  const isOwn = (pod: ReplicaPod): boolean => controllerOf(pod)?.uid === uid;
  const mine = pods.filter(isOwn);
  const letGo = mine.filter((pod) => !matches(pod) && !isTerminating(pod));
  const isLeaving = deletionTimestamp !== undefined;
  const adopt = adoptable(set, pods).filter(isActive);
  const held = [...mine.filter(matches), ...adopt];
  const active = held.filter(isActive);
  const failures = held.filter((pod) => isFinished(pod) && !isTerminating(pod));
  const available = availability(active, minReadySeconds * 1000, now);
  const status: ReplicaSetStatus = {
    ...counts({
      replicas: active.length,
      fullyLabeledReplicas: active.filter((pod) => hasLabels(pod, template.metadata?.labels)).length,
      readyReplicas: active.filter(isReady).length,
      availableReplicas: available.count,
      terminatingReplicas: held.filter(isTerminating).length,
    }),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  if (isLeaving) return { adopt, letGo: [], create: 0, remove: [], status };
  const missing = Math.min(wanted - active.length, mostAtOnce);
  const retryAt = missing > 0 ? nextTry(failures) : 0;
  return {
    adopt,
    letGo,
    create: missing > 0 && retryAt <= now ? missing : 0,
    remove: [...surplus(active, wanted), ...oldest(failures)],
    status,
    ...wakeAtFirst(available.next, retryAt > now ? retryAt : undefined),
  };
}

const hasLabels = ({ metadata }: ReplicaPod, labels: Readonly<Record<string, string>> = {}): boolean =>
  Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value);

/** How many Pods have been ready for long enough, and when the next will be. */
export function availability(active: readonly ReplicaPod[], pause: Millis, now: Instant) {
  let count = 0;
  let next: Instant | undefined;
  for (const pod of active) {
    const since = readySince(pod);
    if (since === undefined) continue;
    if (since + pause <= now) count++;
    else next = Math.min(next ?? since + pause, since + pause);
  }
  return { count, next };
}

/** Zeros are absent, except for `replicas`. */
function counts({ replicas, ...others }: Readonly<Record<string, number>> & { readonly replicas: number }) {
  return { replicas, ...Object.fromEntries(Object.entries(others).filter(([, count]) => count > 0)) };
}

function surplus(active: readonly ReplicaPod[], wanted: number): readonly ReplicaPod[] {
  const excess = Math.min(active.length - wanted, mostAtOnce);
  return excess <= 0 ? [] : [...active].sort(byWorth).slice(0, excess);
}

const born = ({ metadata }: ReplicaPod): Instant => parseInstant(metadata.creationTimestamp) ?? 0;

const oldest = (failures: readonly ReplicaPod[]): readonly ReplicaPod[] =>
  [...failures].sort((a, b) => born(a) - born(b)).slice(0, Math.max(0, failures.length - failuresKept));

function nextTry(failures: readonly ReplicaPod[]): Instant {
  if (failures.length === 0) return 0;
  return Math.max(...failures.map(born)) + firstDelay * 4 ** Math.min(failures.length - 1, failuresKept);
}
