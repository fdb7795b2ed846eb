import type { Informer, InformerShare, Manager } from "#kernel/kit/index.ts";
import {
  apiVersionOf,
  controllerOf,
  type KubeObject,
  keyOf,
  type ResourceType,
  type Stored,
} from "#kernel/model/index.ts";
import { labels } from "./child-names.ts";
import { isTerminal } from "#engine/index.ts";
import { isLetLive, stepSources } from "./compile/step-source.ts";
import { type StepStatus, Workflow } from "./kinds.ts";
import { statusOf } from "./reconcile/attempts.ts";
import type { Sight } from "./reconcile/pass.ts";
import { specOf } from "./spec-of.ts";

/** Index of objects that carry a workflow's uid and have no controller. */
const strayIndex = "slipway.dev/stray";

/** Pure, as indexes demand: the same object always has the same values. */
const strayOf = ({ metadata }: Stored): readonly string[] => {
  const uid = metadata.labels?.[labels.uid];
  return uid === undefined || metadata.ownerReferences?.some((owner) => owner.controller === true) ? [] : [uid];
};

/** What a `workflow` step creates. */
const ownKind = { apiVersion: apiVersionOf(Workflow), kind: Workflow.kind } as const;

/** One mirror and the workflows that need it; `stop` gives it up. */
interface Watched {
  readonly share: InformerShare;
  readonly users: Set<string>;
  readonly stop: () => void;
}

/**
 * The mirrors of kinds that only some workflows need: children of templates and referenced objects. A mirror starts
 * when the first workflow asks for it and stops when the last one that did is forgotten. Changes of an object ask for
 * a pass of the workflow that controls it and of all that refer to it.
 *
 * Invariant: `#references` is `#referrers` the other way round, and neither holds an empty set; a kind is in
 * `#watched` exactly while it has users. All of it is bounded by the workflows that are not forgotten and their
 * steps. Users and references are keys of workflows (`namespace/name`).
 */
export class WatchedKinds {
  readonly #manager: Manager;
  readonly #enqueue: (key: string) => void;
  readonly #watched = new Map<string, Watched>();
  /** Keys of the workflows that refer to an object. */
  readonly #referrers = new Map<string, Set<string>>();
  readonly #references = new Map<string, Set<string>>();

  /** `enqueue` asks for a pass of the workflow with this key. */
  constructor(manager: Manager, enqueue: (key: string) => void) {
    this.#manager = manager;
    this.#enqueue = enqueue;
  }

  /**
   * The mirror of a kind, on behalf of a workflow, which gets a pass once the mirror has been filled, and one when the server refuses
   * that. Asking again costs nothing. The informer may still be empty: `hasSynced()` tells, and `refusal()` why.
   */
  acquire(type: ResourceType, user: string): Informer {
    const id = `${apiVersionOf(type)}/${type.kind}`;
    const watched = this.#watched.get(id) ?? this.#watch(id, type);
    if (!watched.users.has(user)) {
      watched.users.add(user);
      this.#enqueueOnceSynced(watched.share.informer, user);
    }
    return watched.share.informer;
  }

  /**
   * Asks for passes of the workflow `user` when the object changes, is created or deleted. The kind must have been
   * acquired for that workflow.
   */
  refer(type: ResourceType, objectKey: string, user: string): void {
    const id = `${apiVersionOf(type)}/${type.kind}/${objectKey}`;
    addTo(this.#referrers, id, user);
    addTo(this.#references, user, id);
  }

  /** Objects of all mirrored kinds that bear the workflow's uid and that nobody controls. */
  strays(uid: string): readonly Stored[] {
    return [...this.#watched.values()].flatMap(({ share }) => share.informer.byIndex(strayIndex, uid));
  }

  /** Objects of all mirrored kinds that the workflow controls. */
  controlledBy(owner: Stored): readonly Stored[] {
    return [...this.#watched.values()].flatMap(({ share }) => share.informer.byIndex(ownerIndex, owner.metadata.uid));
  }

  /**
   * Whether every kind the workflow's templates name is mirrored; what is missing is asked for, and tells when it is filled. A kind that may not be
   * watched hides nothing where no step of it has a child.
   */
  async sight(workflow: Stored<Workflow>): Promise<Sight> {
    const user = keyOf(workflow.metadata);
    const refusals = new Set<string>();
    let isFilling = false;
    for (const { key, step } of stepSources(specOf(workflow))) {
      const { apiVersion, kind } = step.workflow === undefined ? (step.template ?? {}) : ownKind;
      if (typeof apiVersion !== "string" || typeof kind !== "string") continue;
      const type = await this.#manager.client.resourceType(apiVersion, kind);
      const mirror = type === undefined ? undefined : this.acquire(type, user);
      if (mirror === undefined || mirror.hasSynced()) continue;
      const refusal = mirror.refusal();
      if (refusal === undefined) isFilling = true;
      else if (!isLetLive(step) && mayHaveChild(statusOf(workflow, key))) refusals.add(refusal.message);
    }
    if (isFilling) return { is: "filling" };
    return refusals.size === 0 ? { is: "complete" } : { is: "refused", message: [...refusals].join("; ") };
  }

  /** Gives up everything a workflow asked for; a mirror that nobody else needs stops at once. */
  forget(user: string): void {
    for (const id of this.#references.get(user) ?? []) removeFrom(this.#referrers, id, user);
    this.#references.delete(user);
    for (const [id, { users, stop }] of this.#watched) {
      if (!users.delete(user) || users.size > 0) continue;
      stop();
      this.#watched.delete(id);
    }
  }

  close(): void {
    for (const { stop } of this.#watched.values()) stop();
    this.#watched.clear();
  }

  #watch(id: string, type: ResourceType): Watched {
    const share = this.#manager.informers.acquire(type);
    share.informer.addIndex(strayIndex, strayOf);
    share.informer.addIndex(ownerIndex, ownerOf);
    const tell = (object: Stored): void => this.#tell(id, object);
    const remove = share.informer.addHandler({
      add: tell,
      update: (_old, object) => tell(object),
      delete: tell,
    });
    const stop = (): void => {
      remove();
      share.release();
    };
    const watched: Watched = { share, users: new Set(), stop };
    this.#watched.set(id, watched);
    return watched;
  }

  #tell(id: string, object: Stored): void {
    for (const key of workflowsOf(object)) this.#enqueue(key);
    for (const key of this.#referrers.get(`${id}/${keyOf(object.metadata)}`) ?? []) this.#enqueue(key);
  }

  #enqueueOnceSynced(informer: Informer, user: string): void {
    if (informer.hasSynced()) return;
    const never = new AbortController();
    const tell = (): void => this.#enqueue(user);
    void informer.readable(never.signal).then(tell, () => {
      tell();
      return informer.synced(never.signal).then(tell);
    });
  }
}

/**
 * One that was seen, of a step that is not over. Names alone are written before anything is created; whoever ended in between leaves what it owns to
 * garbage collection.
 */
function mayHaveChild({ phase, reference, items }: StepStatus = {}): boolean {
  if (phase === undefined || isTerminal(phase)) return false;
  return reference?.uid !== undefined || /[RC]/.test(items?.states ?? "");
}

const ownerIndex = "slipway.dev/owner";

/** By uid: an owner of the same name made later owns nothing. */
const ownerOf = ({ metadata }: Stored): readonly string[] =>
  (metadata.ownerReferences ?? []).flatMap((owner) => (owner.controller === true ? [owner.uid] : []));

/**
 * Keys of the workflows a change of this object concerns: the one that controls it, or whose labels it bears when
 * nobody controls it. Objects that others control concern nobody, whatever labels they bear.
 */
export function workflowsOf(object: KubeObject): readonly string[] {
  const { namespace, labels: given } = object.metadata;
  const owner = controllerOf(object);
  const name =
    owner === undefined
      ? given?.[labels.uid] === undefined
        ? undefined
        : given[labels.workflow]
      : owner.kind === Workflow.kind && owner.apiVersion.startsWith(`${Workflow.group}/`)
        ? owner.name
        : undefined;
  return name === undefined ? [] : [keyOf({ name, ...(namespace === undefined ? {} : { namespace }) })];
}

/** Sets that come and go with their first and last value, so that the maps hold nothing of what is over. */
function addTo(map: Map<string, Set<string>>, key: string, value: string): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, new Set([value]));
  else values.add(value);
}

function removeFrom(map: Map<string, Set<string>>, key: string, value: string): void {
  const values = map.get(key);
  values?.delete(value);
  if (values?.size === 0) map.delete(key);
}
