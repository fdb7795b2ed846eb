import {
  adopt,
  ensureDeleted,
  type Manager,
  patchStatus,
  type ReconcileContext,
  type ReconcileRequest,
  type ReconcileResult,
  type Reconciler,
  refTo,
  requestKey,
  requeueAt,
} from "#kernel/kit/index.ts";
import { controllerOf, Deployment, isAlreadyExists, keyOf, ReplicaSet, type Stored } from "#kernel/model/index.ts";
import { type DeploymentObject, type ReplicaSetObject, revisionAnnotation } from "../deployment-types.ts";
import { addWorkloadController, type Workload, type WorkloadKind } from "../workload-controller.ts";
import { planDeployment, type SetUpdate } from "./plan-deployment.ts";
import { type OwnedSet, replicasOf } from "./sizes.ts";
import { isSameTemplate } from "../template-hash.ts";

const deployments: WorkloadKind<DeploymentObject> = {
  name: "deployment",
  reporter: "kubernetes.io/deployment-controller",
  type: Deployment,
  childType: ReplicaSet,
  selectorOf: ({ spec }) => spec.selector,
};

/** Gives the manager the Deployment controller, which needs that of ReplicaSets. `instance` names this process in events. */
export const addDeploymentController = (manager: Manager, options: { readonly instance: string }): void =>
  addWorkloadController<DeploymentObject, ReplicaSetObject>(
    manager,
    deployments,
    options,
    (workload) => new DeploymentReconciler(workload),
  );

/**
 * Carries out the plan of one Deployment: sets first, then its revision, then what the sets say of themselves. Each write is safe to
 * repeat: a set is created under a name that its template decides, and changed by patches bound to the version that was read, so
 * that a stale mirror ends in a conflict and another try, never in a second move.
 */
class DeploymentReconciler implements Reconciler {
  readonly #workload: Workload<DeploymentObject, ReplicaSetObject>;

  constructor(workload: Workload<DeploymentObject, ReplicaSetObject>) {
    this.#workload = workload;
  }

  async reconcile(request: ReconcileRequest, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { client, objects, clock } = this.#workload;
    const deployment = objects.get(requestKey(request));
    if (deployment === undefined) return undefined;
    const plan = planDeployment(deployment, this.#sets(deployment), clock.now());
    for (const set of plan.adopt) await adopt(client, ReplicaSet, set, deployment);
    signal.throwIfAborted();
    if (plan.create !== undefined && !(await this.#create(deployment, plan.create))) return { requeueAfter: 0 };
    for (const update of plan.update) await this.#update(deployment, update);
    for (const set of plan.remove) await this.#remove(set);
    const numbered = plan.revision === undefined ? deployment : await this.#setRevision(deployment, plan.revision);
    // Planned anew: the mirror shows own writes at once.
    const after = planDeployment(numbered, this.#sets(numbered), clock.now(), plan.create !== undefined);
    await patchStatus<DeploymentObject>(client, Deployment, numbered, after.status);
    return requeueAt(after.wakeAt, clock.now());
  }

  /** Its own and those that it may take; the plan tells them apart by selector and owner. */
  #sets({ metadata }: Stored<DeploymentObject>): readonly OwnedSet[] {
    const { childrenOf, unownedIn } = this.#workload;
    return [...childrenOf(keyOf(metadata)), ...unownedIn(metadata.namespace)];
  }

  /** False when the name belongs to a set of another template: then the next one has another name. */
  async #create(deployment: Stored<DeploymentObject>, set: ReplicaSetObject): Promise<boolean> {
    const { client } = this.#workload;
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

  /**
   * Size and annotations in one patch, bound to the version that was counted: a set that somebody else has scaled meanwhile is
   * planned anew.
   */
  async #update(deployment: Stored<DeploymentObject>, update: SetUpdate): Promise<void> {
    const { set, replicas, annotations, minReadySeconds } = update;
    const { uid, resourceVersion } = set.metadata;
    const body = { metadata: { uid, resourceVersion, annotations }, spec: { replicas, minReadySeconds } };
    const before = replicasOf(set);
    const updated = await this.#workload.client.patch<ReplicaSetObject>(refTo(ReplicaSet, set), {
      type: "merge",
      body,
    });
    if (before !== replicas) this.#tellScaled(deployment, updated, before, replicas);
  }

  /** Only as it was seen: one that has been scaled up again since is somebody's way back. */
  async #remove(set: OwnedSet): Promise<void> {
    const { resourceVersion } = set.metadata;
    await ensureDeleted(this.#workload.client, ReplicaSet, set, { preconditions: { resourceVersion } });
  }

  /**
   * On the Deployment itself, where `kubectl rollout history` looks for it. Not bound to a version: nobody else writes that
   * annotation.
   */
  #setRevision(deployment: Stored<DeploymentObject>, revision: string): Promise<Stored<DeploymentObject>> {
    const { uid } = deployment.metadata;
    const body = { metadata: { uid, annotations: { [revisionAnnotation]: revision } } };
    return this.#workload.client.patch<DeploymentObject>(refTo(Deployment, deployment), { type: "merge", body });
  }

  /** In the words of Kubernetes' own controller. */
  #tellScaled(deployment: Stored<DeploymentObject>, set: OwnedSet, from: number, to: number): void {
    const text = `Scaled ${to > from ? "up" : "down"} replica set ${set.metadata.name} from ${from} to ${to}`;
    this.#workload.tell(deployment, { type: "Normal", reason: "ScalingReplicaSet", text });
  }
}
