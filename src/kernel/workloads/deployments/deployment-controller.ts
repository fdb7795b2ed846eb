import { type Clock, jsonEquals } from "#lib/base/index.ts";
import {
  type ApiClient,
  controllerFor,
  type EventRecorder,
  eventRecorder,
  type Informer,
  type Manager,
  patchStatus,
  type ReconcileContext,
  type ReconcileRequest,
  type ReconcileResult,
  type Reconciler,
  refTo,
  regardingOf,
  requestKey,
} from "#kernel/kit/index.ts";
import {
  controllerOf,
  controllerReference,
  Deployment,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeObject,
  keyOf,
  ReplicaSet,
  type Stored,
} from "#kernel/model/index.ts";
import { type DeploymentObject, type ReplicaSetObject, revisionAnnotation } from "../deployment-types.ts";
import { planDeployment, type SetUpdate } from "./plan-deployment.ts";
import { type OwnedSet, replicasOf } from "./sizes.ts";
import { isSameTemplate } from "./template-hash.ts";

const controllerName = "kubernetes.io/deployment-controller";
/** Index of ReplicaSets by the key of the Deployment that controls them, whether it exists or not. */
const byDeployment = "deployment";
/** Index of ReplicaSets that nobody controls, by their namespace. */
const unowned = "unowned";

/** Gives the manager the Deployment controller, which needs that of ReplicaSets. `instance` names this process in events. */
export function addDeploymentController(manager: Manager, options: { readonly instance: string }): void {
  const { client, clock, informers, log, schedule } = manager;
  const deployments = informers.acquire<DeploymentObject>(Deployment);
  const sets = informers.acquire<ReplicaSetObject>(ReplicaSet);
  sets.informer.addIndex(byDeployment, deploymentKeys);
  sets.informer.addIndex(unowned, (set) => (controllerOf(set) === undefined ? [set.metadata.namespace ?? ""] : []));
  const events = eventRecorder({
    client,
    clock,
    log,
    controller: controllerName,
    instance: options.instance,
    schedule,
  });
  const parts = { client, clock, events, deployments: deployments.informer, sets: sets.informer };
  controllerFor(manager, "deployment")
    .for<DeploymentObject>(Deployment)
    .owns<ReplicaSetObject>(ReplicaSet)
    .complete(new DeploymentReconciler(parts));
  manager.onStopped(() => {
    deployments.release();
    sets.release();
    // What was recorded is written, or dropped with a note in the log; nobody need wait for it.
    void events.close();
  });
}

function deploymentKeys(set: KubeObject): readonly string[] {
  const owner = controllerOf(set);
  if (owner?.kind !== "Deployment" || !owner.apiVersion.startsWith("apps/")) return [];
  const { namespace } = set.metadata;
  return [keyOf(namespace === undefined ? { name: owner.name } : { namespace, name: owner.name })];
}

interface Parts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly deployments: Informer<DeploymentObject>;
  readonly sets: Informer<ReplicaSetObject>;
}

/**
 * Carries out the plan of one Deployment: sets first, then its revision, then what the sets say of themselves. Each write is safe to
 * repeat: a set is created under a name that its template decides, and changed by patches bound to the version that was read, so
 * that a stale mirror ends in a conflict and another try, never in a second move.
 */
class DeploymentReconciler implements Reconciler {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async reconcile(request: ReconcileRequest, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { deployments, clock } = this.#parts;
    const deployment = deployments.get(requestKey(request));
    if (deployment === undefined) return undefined;
    const plan = planDeployment(deployment, this.#sets(deployment), clock.now());
    for (const set of plan.adopt) await this.#adopt(deployment, set);
    signal.throwIfAborted();
    if (plan.create !== undefined && !(await this.#create(deployment, plan.create))) return { requeueAfter: 0 };
    for (const update of plan.update) await this.#update(deployment, update);
    for (const set of plan.remove) await this.#remove(set);
    const numbered = plan.revision === undefined ? deployment : await this.#setRevision(deployment, plan.revision);
    // Planned anew: the mirror shows own writes at once.
    const after = planDeployment(numbered, this.#sets(numbered), clock.now(), plan.create !== undefined);
    if (!jsonEquals(after.status, numbered.status ?? {})) {
      await patchStatus<DeploymentObject>(this.#parts.client, Deployment, numbered, after.status);
    }
    return after.wakeAt === undefined ? undefined : { requeueAfter: Math.max(1, after.wakeAt - clock.now()) };
  }

  #sets({ metadata }: Stored<DeploymentObject>): readonly OwnedSet[] {
    const { sets } = this.#parts;
    return [...sets.byIndex(byDeployment, keyOf(metadata)), ...sets.byIndex(unowned, metadata.namespace ?? "")];
  }

  /** False when the name belongs to a set of another template: then the next one has another name. */
  async #create(deployment: Stored<DeploymentObject>, set: ReplicaSetObject): Promise<boolean> {
    const { client } = this.#parts;
    try {
      const created = await client.create<ReplicaSetObject>(ReplicaSet, set);
      if (replicasOf(created) > 0) this.#tellScaled(deployment, created, 0, replicasOf(created));
      return true;
    } catch (thrown) {
      if (!isAlreadyExists(thrown)) throw thrown;
    }
    const present = await client.get<ReplicaSetObject>(refTo(ReplicaSet, set));
    const isOurs = controllerOf(present)?.uid === deployment.metadata.uid && isSameTemplate(present, deployment);
    if (isOurs) return true;
    const status = { ...deployment.status, collisionCount: (deployment.status?.collisionCount ?? 0) + 1 };
    await patchStatus<DeploymentObject>(client, Deployment, deployment, status);
    return false;
  }

  async #update(deployment: Stored<DeploymentObject>, update: SetUpdate): Promise<void> {
    const { set, replicas, annotations, minReadySeconds } = update;
    const { uid, resourceVersion } = set.metadata;
    const body = { metadata: { uid, resourceVersion, annotations }, spec: { replicas, minReadySeconds } };
    const before = replicasOf(set);
    const updated = await this.#parts.client.patch<ReplicaSetObject>(refTo(ReplicaSet, set), { type: "merge", body });
    if (before !== replicas) this.#tellScaled(deployment, updated, before, replicas);
  }

  /** Refused with a conflict when somebody else has taken it in the meantime. */
  async #adopt(deployment: Stored<DeploymentObject>, set: OwnedSet): Promise<void> {
    const { uid, resourceVersion, ownerReferences = [] } = set.metadata;
    const owners = [...ownerReferences, controllerReference(deployment)].map((owner) => ({ ...owner }));
    const body = { metadata: { uid, resourceVersion, ownerReferences: owners } };
    await this.#parts.client.patch(refTo(ReplicaSet, set), { type: "merge", body });
  }

  /** Only as it was seen: one that has been scaled up again since is somebody's way back. */
  async #remove(set: OwnedSet): Promise<void> {
    const { uid, resourceVersion } = set.metadata;
    try {
      await this.#parts.client.delete(refTo(ReplicaSet, set), { preconditions: { uid, resourceVersion } });
    } catch (thrown) {
      if (!isNotFound(thrown) && !isConflict(thrown)) throw thrown;
    }
  }

  #setRevision(deployment: Stored<DeploymentObject>, revision: string): Promise<Stored<DeploymentObject>> {
    const { uid } = deployment.metadata;
    const body = { metadata: { uid, annotations: { [revisionAnnotation]: revision } } };
    return this.#parts.client.patch<DeploymentObject>(refTo(Deployment, deployment), { type: "merge", body });
  }

  #tellScaled(deployment: Stored<DeploymentObject>, set: OwnedSet, from: number, to: number): void {
    const note = `Scaled ${to > from ? "up" : "down"} replica set ${set.metadata.name} from ${from} to ${to}`;
    const regarding = regardingOf(deployment);
    this.#parts.events.record({
      regarding,
      type: "Normal",
      reason: "ScalingReplicaSet",
      action: "ScalingReplicaSet",
      note,
    });
  }
}
