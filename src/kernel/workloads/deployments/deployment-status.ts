// What `kubectl rollout status`, `kubectl wait` and dashboards read of a Deployment. Reasons are part of the interface:
// tools compare them (`NewReplicaSetAvailable`, `ProgressDeadlineExceeded`), so they are Kubernetes' own words;
// messages are ours.
//
//   Progressing   NewReplicaSetCreated -> ReplicaSetUpdated (once for each move) -> NewReplicaSetAvailable
//                          \________________ no move in time ________________-> ProgressDeadlineExceeded

import { formatTime, type Instant, parseInstant } from "#lib/base/index.ts";
import { conditionOf } from "#kernel/kit/index.ts";
import type { DeploymentCondition, DeploymentObject, DeploymentStatus, ReplicaSetObject } from "../deployment-types.ts";
import { rolloutBudget } from "./rollout-budget.ts";
import { allSets, availableOf, replicasOf, type Rollout, sum } from "./sizes.ts";

type Conditions = readonly DeploymentCondition[];
type Wanted = Omit<DeploymentCondition, "lastTransitionTime" | "lastUpdateTime">;

const never = 2_147_483_647;

/** A Deployment's status, with the reasons of `kubectl rollout status`. `isNew`: this pass created the current set. */
export function statusOf(rollout: Rollout, isNew: boolean, now: Instant): DeploymentStatus {
  const { deployment } = rollout;
  const before = deployment.status ?? {};
  const counted = countsOf(rollout);
  const status: DeploymentStatus = { ...counted, ...keptOf(before) };
  const conditions = withFailure(
    withProgress(withAvailability(before.conditions ?? [], deployment, counted, now), rollout, status, isNew, now),
    rollout,
    now,
  );
  return { ...status, ...(conditions.length === 0 ? {} : { conditions }) };
}

const keptOf = ({ collisionCount }: DeploymentStatus): DeploymentStatus =>
  collisionCount === undefined ? {} : { collisionCount };

function countsOf(rollout: Rollout): DeploymentStatus {
  const sets = allSets(rollout);
  const count = (of: (set: ReplicaSetObject) => number | undefined) => sum(sets, (set) => of(set) ?? 0);
  const available = count(availableOf);
  const counts = {
    replicas: count(({ status }) => status?.replicas),
    updatedReplicas: rollout.current?.status?.replicas ?? 0,
    readyReplicas: count(({ status }) => status?.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, sum(sets, replicasOf) - available),
    terminatingReplicas: count(({ status }) => status?.terminatingReplicas),
  };
  const { generation } = rollout.deployment.metadata;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...Object.fromEntries(Object.entries(counts).filter(([, value]) => value > 0)),
  };
}

/** Available: enough Pods to serve, also in the middle of a rollout. */
function withAvailability(
  conditions: Conditions,
  deployment: DeploymentObject,
  { availableReplicas = 0 }: DeploymentStatus,
  now: Instant,
): Conditions {
  const least = replicasOf(deployment) - rolloutBudget(deployment).unavailable;
  const isEnough = availableReplicas >= least;
  const condition: Wanted = {
    type: "Available",
    status: isEnough ? "True" : "False",
    reason: isEnough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
    message: `${availableReplicas} of at least ${least} replicas are available`,
  };
  return set(conditions, condition, now);
}

export const isComplete = ({ deployment }: Rollout, status: DeploymentStatus): boolean => {
  const wanted = replicasOf(deployment);
  return (
    (status.updatedReplicas ?? 0) === wanted &&
    (status.replicas ?? 0) === wanted &&
    (status.availableReplicas ?? 0) === wanted &&
    status.observedGeneration === deployment.metadata.generation
  );
};

/** More new Pods, fewer old ones, or more ready ones: each restarts the deadline. */
function hasMoved(before: DeploymentStatus, after: DeploymentStatus): boolean {
  const olds = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus) => replicas - updatedReplicas;
  return (
    (after.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    olds(after) < olds(before) ||
    (after.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

/** Progressing: the first of these that holds. Without a deadline there is no such condition, as in Kubernetes. */
function withProgress(
  conditions: Conditions,
  rollout: Rollout,
  status: DeploymentStatus,
  isNew: boolean,
  now: Instant,
): Conditions {
  const { deployment, current } = rollout;
  const { paused = false, progressDeadlineSeconds = never } = deployment.spec;
  if (progressDeadlineSeconds === never) return conditions.filter(({ type }) => type !== "Progressing");
  const known = conditionOf(conditions, "Progressing");
  const tell = (state: "True" | "False" | "Unknown", reason: string, message: string): Conditions =>
    set(conditions, { type: "Progressing", status: state, reason, message }, now);
  if (paused) return tell("Unknown", "DeploymentPaused", "the rollout is paused");
  if (known?.reason === "DeploymentPaused") return tell("Unknown", "DeploymentResumed", "the rollout goes on");
  const name = current === undefined ? "" : `ReplicaSet "${current.metadata.name}"`;
  if (isNew) return tell("True", "NewReplicaSetCreated", `${name} was created`);
  if (current !== undefined && known === undefined)
    return tell("True", "FoundNewReplicaSet", `${name} was there already`);
  const wasComplete = known?.reason === "NewReplicaSetAvailable" && status.replicas === status.updatedReplicas;
  if (wasComplete && !isTemplateNew(rollout)) return conditions;
  if (isComplete(rollout, status)) return tell("True", "NewReplicaSetAvailable", `${name} carries all replicas`);
  if (hasMoved(deployment.status ?? {}, status))
    // Each move restarts the deadline, so it is written even if reason and message stay the same.
    return set(
      conditions,
      { type: "Progressing", status: "True", reason: "ReplicaSetUpdated", message: `${name} is progressing` },
      now,
      true,
    );
  const deadline = progressDeadline(rollout, known);
  if (deadline === undefined || deadline > now) return conditions;
  return tell(
    "False",
    "ProgressDeadlineExceeded",
    `${name} has made no progress for ${progressDeadlineSeconds} seconds`,
  );
}

const isTemplateNew = ({ deployment }: Rollout): boolean =>
  deployment.status?.observedGeneration !== deployment.metadata.generation;

/** When the rollout counts as stuck; undefined if it is complete, paused, or has no deadline. */
export function deadlineOf(rollout: Rollout, status: DeploymentStatus): Instant | undefined {
  const known = conditionOf(status.conditions, "Progressing");
  return isComplete(rollout, status) ? undefined : progressDeadline(rollout, known);
}

/** Reasons under which the deadline counts: Pods may fail after NewReplicaSetAvailable in a rollout not stuck. */
const timed: ReadonlySet<string> = new Set([
  "NewReplicaSetCreated",
  "FoundNewReplicaSet",
  "ReplicaSetUpdated",
  "DeploymentResumed",
]);

/** Counted from the last move, not from the last transition. */
function progressDeadline({ deployment }: Rollout, known: DeploymentCondition | undefined): Instant | undefined {
  const { progressDeadlineSeconds = never, paused = false } = deployment.spec;
  if (known === undefined || paused || progressDeadlineSeconds === never || !timed.has(known.reason ?? ""))
    return undefined;
  const from = parseInstant(known.lastUpdateTime ?? known.lastTransitionTime ?? "");
  return from === undefined ? undefined : from + progressDeadlineSeconds * 1000;
}

/** Copies the ReplicaFailure condition of the sets, first of the current one. */
function withFailure(conditions: Conditions, { current, old }: Rollout, now: Instant): Conditions {
  const failures = [...(current === undefined ? [] : [current]), ...old].map(({ status }) =>
    conditionOf(status?.conditions, "ReplicaFailure"),
  );
  const failure = failures.find((each) => each?.status === "True");
  if (failure === undefined) return conditions.filter(({ type }) => type !== "ReplicaFailure");
  const { type, status, reason = "", message = "" } = failure;
  return set(conditions, { type, status, reason, message }, now);
}

/** Like `withCondition` of the kit, with the time of the last update. */
function set(conditions: Conditions, wanted: Wanted, now: Instant, isUpdate = false): Conditions {
  const index = conditions.findIndex(({ type }) => type === wanted.type);
  const before = conditions[index];
  if (!isUpdate && before?.status === wanted.status && before.reason === wanted.reason) return conditions;
  const time = formatTime(now);
  const lastTransitionTime = before?.status === wanted.status ? (before.lastTransitionTime ?? time) : time;
  const next: DeploymentCondition = { ...wanted, lastUpdateTime: time, lastTransitionTime };
  return before === undefined ? [...conditions, next] : conditions.with(index, next);
}
