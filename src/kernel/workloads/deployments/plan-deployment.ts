import { adoptable } from "../workload-controller.ts";
// Kubernetes' deployment controller (kubernetes/kubernetes, pkg/controller/deployment) as a pure function.

import type { Instant } from "#lib/base/index.ts";
import { jsonEquals } from "#lib/base/index.ts";
import { type Waking } from "#kernel/kit/index.ts";
import { controllerOf, controllerReference, type Stored } from "#kernel/model/index.ts";
import {
  type DeploymentObject,
  type DeploymentStatus,
  type ReplicaSetObject,
  revisionAnnotation,
  templateHashLabel,
} from "../deployment-types.ts";
import { deadlineOf, isComplete, statusOf } from "./deployment-status.ts";
import { currentAnnotations, nextRevision, revisionOf, sizeAnnotations } from "./revisions.ts";
import {
  bornAt,
  emptyOld,
  firstSize,
  isResized,
  type OwnedSet,
  proportionalSizes,
  replicasOf,
  type Resize,
  type Rollout,
  rollingStep,
} from "./sizes.ts";
import { isSameTemplate, templateHash } from "../template-hash.ts";

/** What a Deployment needs now. May be carried out again after a crash at any point. */
export interface DeploymentPlan extends Waking {
  readonly adopt: readonly OwnedSet[];
  readonly create?: ReplicaSetObject;
  readonly update: readonly SetUpdate[];
  readonly remove: readonly OwnedSet[];
  readonly revision?: string;
  readonly status: DeploymentStatus;
}

/** The desired state of a set, written in one patch bound to the version that was read. */
export interface SetUpdate {
  readonly set: OwnedSet;
  readonly replicas: number;
  readonly annotations: Readonly<Record<string, string>>;
  readonly minReadySeconds: number;
}

const nothing = { adopt: [], update: [], remove: [] } as const;

/**
 * Decides what to do for a Deployment. Pure. `sets` are the ReplicaSets of its namespace that it controls or that have
 * no controller. A pass makes one move; the statuses of the sets cause the next. `isNew`: the set of the current
 * template has just been created.
 */
export function planDeployment(
  deployment: Stored<DeploymentObject>,
  sets: readonly OwnedSet[],
  now: Instant,
  isNew = false,
): DeploymentPlan {
  const adopt = adoptable(deployment, sets);
  const rollout = rolloutOf(deployment, [...sets.filter((set) => isOwned(deployment, set)), ...adopt]);
  const settled = (plan: Partial<DeploymentPlan>): DeploymentPlan =>
    withStatus(rollout, { ...nothing, adopt, ...plan }, now, isNew);
  if (deployment.metadata.deletionTimestamp !== undefined) return settled({ adopt: [] });
  const { paused = false, strategy } = deployment.spec;
  if (paused || isResized(rollout)) {
    const update = updates(rollout, proportionalSizes(rollout));
    return settled({ update, remove: paused ? outdated(rollout) : [] });
  }
  if (rollout.current === undefined && !(strategy?.type === "Recreate" && isOldAlive(rollout))) {
    return settled({ create: newSet(rollout), revision: String(nextRevision(rollout.old)) });
  }
  const resized = strategy?.type === "Recreate" ? recreateStep(rollout) : rollingStep(rollout);
  const update = updates(rollout, resized, true);
  const remove = isComplete(rollout, statusOf(rollout, false, now)) ? outdated(rollout) : [];
  const revision = revisionAfter(rollout);
  return settled({ update, remove, ...(revision === undefined ? {} : { revision }) });
}

const isOwned = ({ metadata }: Stored<DeploymentObject>, set: OwnedSet): boolean =>
  controllerOf(set)?.uid === metadata.uid;

/** If several sets have the current template, the oldest one is used. */
function rolloutOf(deployment: Stored<DeploymentObject>, sets: readonly OwnedSet[]): Rollout {
  const sorted = [...sets].sort((a, b) => bornAt(a) - bornAt(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
  const current = sorted.find((set) => isSameTemplate(set, deployment));
  return { deployment, current, old: sorted.filter((set) => set !== current) };
}

/** Pods of old templates exist, or may: the status of a set lags behind its spec. */
const isOldAlive = ({ old }: Rollout): boolean =>
  old.some(
    ({ metadata, spec, status }) =>
      spec.replicas !== 0 ||
      (status?.replicas ?? 0) > 0 ||
      (status?.terminatingReplicas ?? 0) > 0 ||
      status?.observedGeneration !== metadata.generation,
  );

function recreateStep(rollout: Rollout): readonly Resize[] {
  const emptied = emptyOld(rollout);
  if (emptied.length > 0 || rollout.current === undefined || isOldAlive(rollout)) return emptied;
  return [{ set: rollout.current, replicas: replicasOf(rollout.deployment) }];
}

/** Name and labels carry the template's hash: a retry after a crash names the same set. */
function newSet(rollout: Rollout): ReplicaSetObject {
  const { deployment, old } = rollout;
  const { name, namespace = "" } = deployment.metadata;
  const { selector, template, minReadySeconds } = deployment.spec;
  const hash = templateHash(deployment, deployment.status?.collisionCount);
  const labels = { ...template.metadata?.labels, [templateHashLabel]: hash };
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      // A name may have 253 characters, and the names of Pods are eleven longer.
      name: `${name.slice(0, 230)}-${hash}`,
      namespace,
      labels,
      annotations: { ...currentAnnotations(deployment, undefined, nextRevision(old)), ...sizeAnnotations(deployment) },
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      replicas: firstSize(rollout),
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [templateHashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

/** Sets that change. With `isCurrent`, the current set also gets its revision and minReadySeconds. */
function updates(rollout: Rollout, sizes: readonly Resize[], isCurrent = false): readonly SetUpdate[] {
  const { deployment, current, old } = rollout;
  const { minReadySeconds = 0 } = deployment.spec;
  const wanted = new Map(sizes.map(({ set, replicas }) => [set, replicas]));
  const touched = new Set([...wanted.keys(), ...(isCurrent && current !== undefined ? [current] : [])]);
  return [...touched].flatMap((set) => {
    const replicas = wanted.get(set) ?? replicasOf(set);
    const isNew = isCurrent && set === current;
    const named = isNew ? currentAnnotations(deployment, set, nextRevision(old)) : set.metadata.annotations;
    const annotations = { ...named, ...(wanted.has(set) ? sizeAnnotations(deployment) : {}) };
    const pause = isNew ? minReadySeconds : (set.spec.minReadySeconds ?? 0);
    const isSame =
      replicas === replicasOf(set) &&
      pause === (set.spec.minReadySeconds ?? 0) &&
      jsonEquals(annotations, set.metadata.annotations ?? {});
    return isSame ? [] : [{ set, replicas, annotations, minReadySeconds: pause }];
  });
}

function revisionAfter({ deployment, current, old }: Rollout): string | undefined {
  if (current === undefined) return undefined;
  const revision = String(Math.max(revisionOf(current), nextRevision(old)));
  return deployment.metadata.annotations?.[revisionAnnotation] === revision ? undefined : revision;
}

function outdated({ deployment, old }: Rollout): readonly OwnedSet[] {
  const { revisionHistoryLimit = 10 } = deployment.spec;
  const empty = old.filter(
    ({ metadata, spec, status }) =>
      spec.replicas === 0 &&
      (status?.replicas ?? 0) === 0 &&
      status?.observedGeneration === metadata.generation &&
      metadata.deletionTimestamp === undefined,
  );
  const byRevision = [...empty].sort((a, b) => revisionOf(a) - revisionOf(b) || bornAt(a) - bornAt(b));
  return byRevision.slice(0, Math.max(0, old.length - revisionHistoryLimit));
}

function withStatus(
  rollout: Rollout,
  plan: Omit<DeploymentPlan, "status">,
  now: Instant,
  isNew: boolean,
): DeploymentPlan {
  const status = statusOf(rollout, isNew, now);
  const wakeAt = deadlineOf(rollout, status);
  return { ...plan, status, ...(wakeAt === undefined ? {} : { wakeAt }) };
}
