import { type Clock, jsonEquals, messageOf } from "#lib/base/index.ts";
import {
  type ApiClient,
  type Condition,
  conditionOf,
  controllerFor,
  type EventRecorder,
  eventRecorder,
  type Informer,
  type InformerFactory,
  type Manager,
  matchesLabels,
  patchStatus,
  readLabelSelector,
  type ReconcileContext,
  type ReconcileRequest,
  type ReconcileResult,
  type Reconciler,
  refTo,
  regardingOf,
  requestFor,
  requestKey,
  withCondition,
} from "#kernel/kit/index.ts";
import {
  controllerOf,
  controllerReference,
  isConflict,
  isNotFound,
  type KubeObject,
  keyOf,
  type OwnerReference,
  Pod,
  ReplicaSet,
  type Stored,
} from "#kernel/model/index.ts";
import type { ReplicaSetObject, ReplicaSetStatus } from "../deployment-types.ts";
import { inParallel } from "../in-parallel.ts";
import type { PodObject } from "../pod-types.ts";
import { planReplicaSet } from "./plan-replica-set.ts";
import { replicaPod, type ReplicaPod } from "./replica-pod.ts";

const controllerName = "kubernetes.io/replicaset-controller";
/** Index of Pods by the key of the ReplicaSet that controls them, whether it exists or not. */
const bySet = "replicaset";
/** Index of Pods that nobody controls, by their namespace. */
const unowned = "unowned";

/** Gives the manager the ReplicaSet controller. `instance` names this process in events. */
export function addReplicaSetController(manager: Manager, options: { readonly instance: string }): void {
  const { client, clock, informers, log, schedule } = manager;
  const pods = informers.acquire<PodObject>(Pod);
  const sets = informers.acquire<ReplicaSetObject>(ReplicaSet);
  pods.informer.addIndex(bySet, setKeys);
  pods.informer.addIndex(unowned, namespaceOfUnowned);
  const events = eventRecorder({
    client,
    clock,
    log,
    controller: controllerName,
    instance: options.instance,
    schedule,
  });
  const parts = { client, clock, informers, events, sets: sets.informer, pods: pods.informer };
  controllerFor(manager, "replicaset")
    .for<ReplicaSetObject>(ReplicaSet)
    .owns<PodObject>(Pod)
    .watches<PodObject>(Pod, (pod) => adopters(sets.informer, pod).map(requestFor))
    .complete(new ReplicaSetReconciler(parts));
  manager.onStopped(() => {
    pods.release();
    sets.release();
    // What was recorded is written, or dropped with a note in the log; nobody need wait for it.
    void events.close();
  });
}

function setKeys(pod: KubeObject): readonly string[] {
  const owner = controllerOf(pod);
  if (owner?.kind !== "ReplicaSet" || !owner.apiVersion.startsWith("apps/")) return [];
  const { namespace } = pod.metadata;
  return [keyOf(namespace === undefined ? { name: owner.name } : { namespace, name: owner.name })];
}

const namespaceOfUnowned = (pod: KubeObject): readonly string[] =>
  controllerOf(pod) === undefined ? [pod.metadata.namespace ?? ""] : [];

/** The ReplicaSets that would take a Pod nobody controls. */
function adopters(sets: Informer<ReplicaSetObject>, pod: KubeObject): readonly Stored<ReplicaSetObject>[] {
  if (controllerOf(pod) !== undefined) return [];
  return sets.list().filter(({ metadata, spec }) => {
    if (metadata.namespace !== pod.metadata.namespace) return false;
    const selector = readLabelSelector(spec.selector);
    return selector.ok && matchesLabels(selector.value, pod.metadata.labels ?? {});
  });
}

interface Parts {
  /** The manager's: what it writes is seen in the mirrors below at once. */
  readonly client: ApiClient;
  readonly clock: Clock;
  /** For answers of deletions, which the client does not note by itself. */
  readonly informers: InformerFactory;
  readonly events: EventRecorder;
  readonly sets: Informer<ReplicaSetObject>;
  readonly pods: Informer<PodObject>;
}

type Conditions = readonly Condition[];

/**
 * Carries out the plan of one ReplicaSet: adopts, lets go, ends, creates, then writes what it counted. No count of expected events
 * as other controllers keep it: the mirror shows this process's own writes at once, so that a Pod is never created twice because
 * its event is late. A crash between two writes leaves Pods that the next pass counts.
 */
class ReplicaSetReconciler implements Reconciler {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async reconcile(request: ReconcileRequest, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const set = this.#parts.sets.get(requestKey(request));
    if (set === undefined) return undefined;
    const plan = this.#plan(set);
    await inParallel(plan.adopt, (pod) => this.#adopt(set, pod));
    await inParallel(plan.letGo, (pod) => this.#letGo(set, pod));
    signal.throwIfAborted();
    await inParallel(plan.remove, (pod) => this.#remove(set, pod));
    let failure: unknown;
    try {
      await this.#create(set, plan.create);
    } catch (thrown) {
      failure = thrown;
    }
    // Counted anew: the mirror shows own writes at once.
    const after = this.#plan(set);
    await this.#writeStatus(set, after.status, conditionsAfter(set, failure, this.#parts.clock.now()));
    if (failure !== undefined) throw failure;
    return after.wakeAt === undefined
      ? undefined
      : { requeueAfter: Math.max(1, after.wakeAt - this.#parts.clock.now()) };
  }

  #plan(set: Stored<ReplicaSetObject>) {
    const { pods, clock } = this.#parts;
    const own = pods.byIndex(bySet, keyOf(set.metadata));
    const free = pods.byIndex(unowned, set.metadata.namespace ?? "");
    return planReplicaSet(set, [...own, ...free], clock.now());
  }

  /** One Pod first, then twice as many each time: what is refused is refused once, not five hundred times. */
  async #create(set: Stored<ReplicaSetObject>, count: number): Promise<void> {
    for (let done = 0, batch = 1; done < count; done += batch, batch = Math.min(2 * batch, count - done)) {
      await inParallel(Array.from({ length: batch }), () => this.#createOne(set));
    }
  }

  /** The event tells the reason of a refusal (quota, a terminating namespace), which nothing else would show to people. */
  async #createOne(set: Stored<ReplicaSetObject>): Promise<void> {
    try {
      const { metadata } = await this.#parts.client.create<PodObject>(Pod, replicaPod(set));
      this.#tell(set, "Normal", "SuccessfulCreate", "Create", `Created pod: ${metadata.name}`);
    } catch (thrown) {
      this.#tell(set, "Warning", "FailedCreate", "Create", `Error creating: ${messageOf(thrown)}`);
      throw thrown;
    }
  }

  async #remove(set: Stored<ReplicaSetObject>, pod: ReplicaPod): Promise<void> {
    const { uid, name } = pod.metadata;
    try {
      const answer = await this.#parts.client.delete(refTo(Pod, pod), { preconditions: { uid } });
      // Seen at once as terminating, so that it is not counted as a replica any more.
      if (isStoredPod(answer)) this.#parts.informers.noteWritten(Pod, answer);
    } catch (thrown) {
      if (!isNotFound(thrown) && !isConflict(thrown)) throw thrown;
    }
    this.#tell(set, "Normal", "SuccessfulDelete", "Delete", `Deleted pod: ${name}`);
  }

  /** By uid and version: nobody else may have taken or ended it in the meantime. */
  async #adopt(set: Stored<ReplicaSetObject>, pod: ReplicaPod): Promise<void> {
    const owners = [...(pod.metadata.ownerReferences ?? []), controllerReference(set)];
    await this.#patchOwners(pod, owners);
  }

  /** Its Pods go on; they only belong to nobody, and another set of their labels may take them. */
  async #letGo(set: Stored<ReplicaSetObject>, pod: ReplicaPod): Promise<void> {
    const owners = (pod.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== set.metadata.uid);
    await this.#patchOwners(pod, owners);
  }

  /** A merge patch replaces the whole list, so it is bound to the version whose list was read: 409 when there is a newer one. */
  async #patchOwners(pod: ReplicaPod, owners: readonly OwnerReference[]): Promise<void> {
    const { uid, resourceVersion } = pod.metadata;
    const ownerReferences = owners.map((owner) => ({ ...owner }));
    const body = { metadata: { uid, resourceVersion, ownerReferences } };
    try {
      await this.#parts.client.patch(refTo(Pod, pod), { type: "merge", body });
    } catch (thrown) {
      if (!isNotFound(thrown)) throw thrown;
    }
  }

  /** One write when a count or the condition has changed, else none: an idle set costs nothing. */
  async #writeStatus(set: Stored<ReplicaSetObject>, counts: ReplicaSetStatus, conditions: Conditions): Promise<void> {
    const status = { ...counts, ...(conditions.length === 0 ? {} : { conditions }) };
    if (!jsonEquals(status, set.status ?? {}))
      await patchStatus<ReplicaSetObject>(this.#parts.client, ReplicaSet, set, status);
  }

  #tell(set: Stored<ReplicaSetObject>, type: "Normal" | "Warning", reason: string, action: string, note: string): void {
    this.#parts.events.record({ regarding: regardingOf(set), type, reason, action, note });
  }
}

/** ReplicaFailure stands there as long as Pods cannot be created, and is gone afterwards. */
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

const isStoredPod = (answer: object): answer is Stored<PodObject> =>
  "kind" in answer && answer.kind === "Pod" && "metadata" in answer;
