import { inParallel, messageOf, jsonEquals } from "#lib/base/index.ts";
import {
  adopt,
  ensureChild,
  ensureDeleted,
  type Informer,
  type Manager,
  patchStatus,
  type ReconcileContext,
  type ReconcileRequest,
  type ReconcileResult,
  type Reconciler,
  refTo,
  requestKey,
  requeueAt,
  toController,
} from "#kernel/kit/index.ts";
import {
  ControllerRevision,
  controllerOf,
  keyOf,
  PersistentVolumeClaim,
  Pod,
  StatefulSet,
  type Stored,
  asJson,
  controllerReference,
} from "#kernel/model/index.ts";
import type { ClaimObject } from "../claims/claim.ts";
import type { PodObject } from "../pod-types.ts";
import type { ReplicaPod } from "../replicasets/replica-pod.ts";
import { type RevisionObject, revisionLabel, type StatefulSetObject } from "../stateful-set-types.ts";
import { addWorkloadController, type Workload, type WorkloadKind } from "../workload-controller.ts";
import { planStatefulSet } from "./plan-stateful-set.ts";
import { claimsOf, ordinalOf, podName, statefulPod } from "./stateful-pod.ts";
import type { PodTemplate } from "../deployment-types.ts";
import { templateHash } from "../template-hash.ts";

const statefulSets: WorkloadKind<StatefulSetObject> = {
  name: "statefulset",
  reporter: "kubernetes.io/statefulset-controller",
  type: StatefulSet,
  childType: Pod,
  selectorOf: ({ spec }) => spec.selector,
};

export function addStatefulSetController(manager: Manager, options: { readonly instance: string }): void {
  const claims = manager.mirror<ClaimObject>(PersistentVolumeClaim);
  const revisions = manager.mirror<RevisionObject>(ControllerRevision);
  const ownerOf = toController(StatefulSet);
  revisions.addIndex(statefulSets.name, (revision) => ownerOf(revision).map(requestKey));
  addWorkloadController<StatefulSetObject, PodObject>(
    manager,
    statefulSets,
    options,
    (workload) => new StatefulSetReconciler({ ...workload, claims, revisions }),
  );
}

interface Parts extends Workload<StatefulSetObject, PodObject> {
  readonly claims: Informer<ClaimObject>;
  readonly revisions: Informer<RevisionObject>;
}

type Set = Stored<StatefulSetObject>;

interface History {
  readonly update: Stored<RevisionObject>;
  readonly current: Stored<RevisionObject>;
  readonly all: readonly Stored<RevisionObject>[];
}

/** Applies the plan of one StatefulSet. Names follow from the set: a repeated pass finds what it has created. */
class StatefulSetReconciler implements Reconciler {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async reconcile(request: ReconcileRequest, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { client, clock, objects } = this.#parts;
    const set = objects.get(requestKey(request));
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return undefined;
    const history = await this.#history(set);
    const plan = this.#plan(set, history);
    await inParallel(plan.adopt, (pod) => adopt(client, Pod, pod, set));
    signal.throwIfAborted();
    await inParallel(plan.remove, (pod) => this.#remove(set, pod, plan.condemned.includes(pod)));
    let failure: unknown;
    try {
      await inParallel(plan.create, ({ ordinal, revision }) => this.#create(set, history, ordinal, revision));
    } catch (thrown) {
      failure = thrown;
    }
    // Counted again: the mirror shows own writes at once.
    const after = this.#plan(set, history);
    await patchStatus<StatefulSetObject>(client, StatefulSet, set, after.status);
    await this.#prune(set, history, after.status.currentRevision);
    if (failure !== undefined) throw failure;
    return requeueAt(after.wakeAt, clock.now());
  }

  #plan(set: Set, { current, update }: History) {
    const revisions = { current: current.metadata.name, update: update.metadata.name };
    return planStatefulSet(set, this.#parts.candidatesFor(set), revisions, this.#parts.clock.now());
  }

  async #history(set: Set): Promise<History> {
    const isOwn = (revision: RevisionObject) => controllerOf(revision)?.uid === set.metadata.uid;
    const all = this.#parts.revisions.byIndex(statefulSets.name, keyOf(set.metadata)).filter(isOwn);
    const update = await this.#update(set, all);
    const current = all.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update;
    return { update, current, all };
  }

  /** A template that came back gets a new revision number, as `kubectl rollout undo` expects. */
  async #update(set: Set, all: History["all"]): Promise<Stored<RevisionObject>> {
    const { client } = this.#parts;
    const { known, made } = revisionFor(set, all);
    if (known === undefined) {
      const { object, outcome } = await ensureChild<RevisionObject>(client, ControllerRevision, made, set);
      if (outcome === "foreign") throw new Error(`ControllerRevision ${object.metadata.name} belongs to another owner`);
      return object;
    }
    if (all.every(({ revision }) => revision <= known.revision)) return known;
    const body = { metadata: { uid: known.metadata.uid }, revision: made.revision };
    return client.patch<RevisionObject>(refTo(ControllerRevision, known), { type: "merge", body });
  }

  /** Claims first: a Pod never exists without them. */
  async #create(set: Set, { current, update }: History, ordinal: number, revision: string): Promise<void> {
    const { client, tell } = this.#parts;
    const name = podName(set, ordinal);
    const template = templateIn(revision === update.metadata.name ? update : current);
    try {
      for (const claim of claimsOf(set, ordinal)) await this.#ensureClaim(set, name, claim);
      await client.create<PodObject>(Pod, statefulPod(set, ordinal, revision, template));
    } catch (thrown) {
      const text = `create Pod ${name} in StatefulSet ${set.metadata.name} failed error: ${messageOf(thrown)}`;
      tell(set, { type: "Warning", reason: "FailedCreate", text });
      throw thrown;
    }
    const text = `create Pod ${name} in StatefulSet ${set.metadata.name} successful`;
    tell(set, { type: "Normal", reason: "SuccessfulCreate", text });
  }

  async #ensureClaim(set: Set, pod: string, claim: ClaimObject): Promise<void> {
    const { client, claims, tell } = this.#parts;
    const present = claims.get(keyOf(claim.metadata));
    if (present?.metadata.deletionTimestamp !== undefined)
      throw new Error(`persistentvolumeclaim "${present.metadata.name}" is being deleted`);
    if (present !== undefined) return;
    await client.create<ClaimObject>(PersistentVolumeClaim, claim);
    const { name = "" } = claim.metadata;
    const text = `create Claim ${name} Pod ${pod} in StatefulSet ${set.metadata.name} success`;
    tell(set, { type: "Normal", reason: "SuccessfulCreate", text });
  }

  /** The claims of a surplus Pod go if the set says so; their finalizer waits for the Pod. */
  async #remove(set: Set, pod: ReplicaPod, isCondemned: boolean): Promise<void> {
    const { client, claims, tell } = this.#parts;
    await ensureDeleted(client, Pod, pod);
    const text = `delete Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} successful`;
    tell(set, { type: "Normal", reason: "SuccessfulDelete", text });
    if (!isCondemned || set.spec.persistentVolumeClaimRetentionPolicy?.whenScaled !== "Delete") return;
    for (const { metadata } of claimsOf(set, ordinalOf(set, pod) ?? 0)) {
      const claim = claims.get(keyOf(metadata));
      if (claim !== undefined) await ensureDeleted(client, PersistentVolumeClaim, claim);
    }
  }

  async #prune(set: Set, { update, current, all }: History, named: string | undefined): Promise<void> {
    const ofPods = this.#parts.candidatesFor(set).map(({ metadata }) => metadata.labels?.[revisionLabel]);
    const used = new Set([...ofPods, update.metadata.name, current.metadata.name, named]);
    for (const revision of outdated(set, all, used))
      await ensureDeleted(this.#parts.client, ControllerRevision, revision);
  }
}

type Revision = Stored<RevisionObject>;

/** `known` is the stored revision of the current template; without it `made` is to be stored. */
function revisionFor(
  set: Stored<StatefulSetObject>,
  all: readonly Revision[],
): { readonly known: Revision | undefined; readonly made: RevisionObject } {
  const revision = Math.max(0, ...all.map((one) => one.revision)) + 1;
  const hash = templateHash(set, set.status?.collisionCount);
  const { metadata: { labels = {} } = {} } = set.spec.template;
  const made: RevisionObject = {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      name: `${set.metadata.name.slice(0, 230)}-${hash}`,
      namespace: set.metadata.namespace ?? "",
      labels: { ...labels, "controller.kubernetes.io/hash": hash },
      annotations: set.metadata.annotations ?? {},
      ownerReferences: [controllerReference(set)],
    },
    data: { spec: { template: { ...set.spec.template, $patch: "replace" } } },
    revision,
  };
  return { known: all.find((one) => jsonEquals(asJson(one)["data"], asJson(made)["data"])), made };
}

function templateIn({ data }: RevisionObject): PodTemplate {
  const { $patch: _replace, ...template } = data.spec.template;
  return template;
}

/** Revisions beyond `revisionHistoryLimit` (10), oldest first. Those in use stay. */
function outdated(
  { spec: { revisionHistoryLimit = 10 } }: StatefulSetObject,
  known: readonly Revision[],
  used: ReadonlySet<string | undefined>,
): readonly Revision[] {
  const unused = known.filter(({ metadata }) => !used.has(metadata.name)).toSorted((a, b) => a.revision - b.revision);
  return unused.slice(0, Math.max(0, unused.length - revisionHistoryLimit));
}
