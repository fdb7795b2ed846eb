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
import { controllerOf, Deployment, isAlreadyExists, ReplicaSet, type Stored } from "#kernel/model/index.ts";
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

export const addDeploymentController = (manager: Manager, options: { readonly instance: string }): void =>
  addWorkloadController<DeploymentObject, ReplicaSetObject>(
    manager,
    deployments,
    options,
    (workload) => new DeploymentReconciler(workload),
  );

/**
 * Applies the plan of one Deployment. Each write can be repeated: the name of a new set follows from its template, and
 * patches are bound to the version that was read, so that a stale mirror causes a conflict and a retry.
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
    const plan = planDeployment(deployment, this.#workload.candidatesFor(deployment), clock.now());
    for (const set of plan.adopt) await adopt(client, ReplicaSet, set, deployment);
    signal.throwIfAborted();
    if (plan.create !== undefined && !(await this.#create(deployment, plan.create))) return { requeueAfter: 0 };
    for (const update of plan.update) await this.#update(deployment, update);
    for (const set of plan.remove) await this.#remove(set);
    const numbered = plan.revision === undefined ? deployment : await this.#setRevision(deployment, plan.revision);
    // Planned again: the mirror shows own writes at once.
    const after = planDeployment(
      numbered,
      this.#workload.candidatesFor(numbered),
      clock.now(),
      plan.create !== undefined,
    );
    await patchStatus<DeploymentObject>(client, Deployment, numbered, after.status);
    return requeueAt(after.wakeAt, clock.now());
  }

  /** False if a set of another template has the name: the next try uses another one. */
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

  /** Bound to the version that was counted: if another client has scaled the set meanwhile, it is planned again. */
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

  /** Bound to the version that was seen: a set that was scaled up since is in use again. */
  async #remove(set: OwnedSet): Promise<void> {
    const { resourceVersion } = set.metadata;
    await ensureDeleted(this.#workload.client, ReplicaSet, set, { preconditions: { resourceVersion } });
  }

  /** On the Deployment, where `kubectl rollout history` looks for it. No other client writes this annotation. */
  #setRevision(deployment: Stored<DeploymentObject>, revision: string): Promise<Stored<DeploymentObject>> {
    const { uid } = deployment.metadata;
    const body = { metadata: { uid, annotations: { [revisionAnnotation]: revision } } };
    return this.#workload.client.patch<DeploymentObject>(refTo(Deployment, deployment), { type: "merge", body });
  }

  #tellScaled(deployment: Stored<DeploymentObject>, set: OwnedSet, from: number, to: number): void {
    const text = `Scaled ${to > from ? "up" : "down"} replica set ${set.metadata.name} from ${from} to ${to}`;
    this.#workload.tell(deployment, { type: "Normal", reason: "ScalingReplicaSet", text });
  }
}
