import { inGrowingBatches, inParallel, messageOf } from "#lib/base/index.ts";
import {
  adopt,
  type Condition,
  conditionOf,
  type Manager,
  orphan,
  patchStatus,
  type ReconcileContext,
  type ReconcileRequest,
  type ReconcileResult,
  type Reconciler,
  requestKey,
  requeueAt,
  withCondition,
} from "#kernel/kit/index.ts";
import { Pod, ReplicaSet, type Stored } from "#kernel/model/index.ts";
import type { ReplicaSetObject, ReplicaSetStatus } from "../deployment-types.ts";
import type { PodObject } from "../pod-types.ts";
import {
  addWorkloadController,
  type Workload,
  type WorkloadKind,
  createPod,
  removePod,
} from "../workload-controller.ts";
import { planReplicaSet } from "./plan-replica-set.ts";
import { replicaPod } from "./replica-pod.ts";

const replicaSets: WorkloadKind<ReplicaSetObject> = {
  name: "replicaset",
  reporter: "kubernetes.io/replicaset-controller",
  type: ReplicaSet,
  childType: Pod,
  selectorOf: ({ spec }) => spec.selector,
};

export const addReplicaSetController = (manager: Manager, options: { readonly instance: string }): void =>
  addWorkloadController<ReplicaSetObject, PodObject>(
    manager,
    replicaSets,
    options,
    (workload) => new ReplicaSetReconciler(workload),
  );

type Conditions = readonly Condition[];

/** Applies the plan of one ReplicaSet. The mirror shows own writes at once, so no Pod is created twice. */
class ReplicaSetReconciler implements Reconciler {
  readonly #workload: Workload<ReplicaSetObject, PodObject>;

  constructor(workload: Workload<ReplicaSetObject, PodObject>) {
    this.#workload = workload;
  }

  async reconcile(request: ReconcileRequest, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { client, clock, objects } = this.#workload;
    const set = objects.get(requestKey(request));
    if (set === undefined) return undefined;
    const plan = this.#plan(set);
    await inParallel(plan.adopt, (pod) => adopt(client, Pod, pod, set));
    await inParallel(plan.letGo, (pod) => orphan(client, Pod, pod, set));
    signal.throwIfAborted();
    await inParallel(plan.remove, (pod) => removePod(this.#workload, set, pod));
    let failure: unknown;
    try {
      await inGrowingBatches(Array.from({ length: plan.create }), () =>
        createPod(this.#workload, set, replicaPod(set)),
      );
    } catch (thrown) {
      failure = thrown;
    }
    // Counted again: the mirror shows own writes at once.
    const after = this.#plan(set);
    await this.#writeStatus(set, after.status, conditionsAfter(set, failure, clock.now()));
    if (failure !== undefined) throw failure;
    return requeueAt(after.wakeAt, clock.now());
  }

  #plan(set: Stored<ReplicaSetObject>) {
    return planReplicaSet(set, this.#workload.candidatesFor(set), this.#workload.clock.now());
  }

  async #writeStatus(set: Stored<ReplicaSetObject>, counts: ReplicaSetStatus, conditions: Conditions): Promise<void> {
    const status = { ...counts, ...(conditions.length === 0 ? {} : { conditions }) };
    await patchStatus<ReplicaSetObject>(this.#workload.client, ReplicaSet, set, status);
  }
}

function conditionsAfter({ status }: ReplicaSetObject, failure: unknown, now: number): Conditions {
  const before = status?.conditions ?? [];
  if (failure !== undefined) {
    const message = messageOf(failure);
    return withCondition(before, { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message }, now);
  }
  return conditionOf(before, "ReplicaFailure") === undefined
    ? before
    : before.filter(({ type }) => type !== "ReplicaFailure");
}
