import { isConflict, isForbidden, isNotFound, splitApiVersion } from "#kernel/model/index.ts";
import { formatTime } from "#lib/base/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry, StoreEvent, StoreKey } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { createObject } from "../verbs/create.ts";
import { deleteObject } from "../verbs/delete.ts";
import { metaText } from "../verbs/metadata.ts";
import { heldPropagation } from "../verbs/propagation.ts";
import { servedFor } from "../verbs/storage-view.ts";
import { finishDeletion } from "./dependants.ts";
import { editEntry } from "./edit-entry.ts";
import { KeyQueue } from "./key-queue.ts";
import {
  isDeletingDependants,
  mayOwn,
  type OwnerLink,
  ownerLinks,
  withoutBlocking,
  withoutOwners,
} from "./owner-references.ts";
import { UnservedOwners } from "./unserved-owners.ts";

/** Objects checked in one turn. */
const scanChunk = 1000;

/**
 * Garbage collection by owner references, driven by events after one scan. Owners are found by uid.
 *
 *   owners                        what happens to the object
 *   all alive                     nothing
 *   some alive                    the references to the others are dropped
 *   none alive                    deleted, unless it changed meanwhile
 *   none alive, some in           deleted in the foreground too if it has dependants of its own; in a cycle, its references
 *   foreground deletion           no longer block
 *   one that may not own it       an Event `OwnerRefInvalidNamespace` and a warning; never deleted for it
 *   one of a kind not served      nothing, until kinds have not changed for 30 s (unserved-owners.ts)
 *
 * An owner is alive when it exists and is not in foreground deletion; so are cycles until one of them is deleted.
 * dependants.ts finishes objects that wait for their dependants.
 */
export class OwnerCollector {
  readonly #context: ApiContext;
  readonly #queue: KeyQueue;
  readonly #unserved: UnservedOwners;
  #closed = false;

  constructor(context: ApiContext) {
    this.#context = context;
    const { clock, onKindsChange } = context;
    this.#queue = new KeyQueue({ work: (key) => this.#collect(parseKeyText(key)), clock, log: context.log });
    this.#unserved = new UnservedOwners(clock, onKindsChange, (key) => this.#queue.add(key));
  }

  /** Checks all objects once, in turns; changes meanwhile come as events. */
  async scan(): Promise<void> {
    const { store } = this.#context;
    for (const collection of store.collections()) {
      let page = store.page(collection, { limit: scanChunk });
      for (;;) {
        for (const entry of page.entries) this.#check(entry);
        if (page.next === undefined || this.#closed) break;
        await new Promise((resolve) => setImmediate(resolve));
        page = store.page(collection, { limit: scanChunk, after: page.next });
      }
    }
  }

  /** Cheap for objects that are not concerned: nothing is parsed. */
  observe(events: readonly StoreEvent[]): void {
    for (const { type, entry, previous } of events) {
      if (type === "delete") {
        this.#addDependants(entry);
        this.#wakeOwners(entry);
        continue;
      }
      if (entry.terminating) this.#observeDeletion(entry, previous);
      if (entry.owners.length > 0 && !sameOwners(entry, previous)) this.#check(entry);
      // A reference may be gone or no longer block.
      if (previous !== undefined) this.#wakeOwners(previous);
    }
  }

  #addDependants({ uid }: Entry): void {
    for (const { key } of this.#context.store.dependants(uid)) this.#queue.add(keyText(key));
  }

  #wakeOwners({ owners }: Entry): void {
    for (const uid of owners) {
      const owner = this.#context.store.byUid(uid);
      if (owner?.terminating === true) this.#queue.add(keyText(owner.key));
    }
  }

  /** Only when the deletion turns to the foreground; later dependants cause events. */
  #observeDeletion(entry: Entry, previous: Entry | undefined): void {
    const policy = heldPropagation(entry.object());
    if (policy === undefined) return;
    this.#queue.add(keyText(entry.key));
    const began = previous === undefined || !isDeletingDependants(previous);
    if (policy === "Foreground" && began) this.#addDependants(entry);
  }

  get idle(): boolean {
    return this.#queue.idle;
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#unserved.close();
    return this.#queue.close();
  }

  /** Queues the object unless there is nothing to do. */
  #check(entry: Entry): void {
    const { store } = this.#context;
    const settled = entry.owners.every((uid) => {
      const owner = store.byUid(uid);
      return owner !== undefined && mayOwn(owner, entry) && !isDeletingDependants(owner);
    });
    if (!settled || entry.terminating) this.#queue.add(keyText(entry.key));
  }

  /** Checks again, since much may have changed. */
  async #collect(key: StoreKey): Promise<void> {
    const { store, registry } = this.#context;
    const entry = store.get(key);
    const resource = servedFor(registry(), key);
    if (entry === undefined || resource === undefined) return;
    if (entry.terminating) return finishDeletion(this.#context, resource, entry);
    const owners = ownerLinks(entry.object()).map((link) => ({ ...link, owner: store.byUid(link.uid) }));
    const foreign = owners.find(({ owner }) => owner !== undefined && !mayOwn(owner, entry));
    if (foreign !== undefined) return this.#reportForeign(entry, foreign.uid);
    const gone = owners.filter(({ owner }) => owner === undefined);
    if (gone.some((link) => this.#mayComeBack(link))) return this.#unserved.hold(keyText(key));
    const waiting = owners.filter(({ owner }) => owner !== undefined && isDeletingDependants(owner));
    const lost = [...gone, ...waiting].map(({ uid }) => uid);
    if (lost.length === 0) return;
    if (lost.length < owners.length) {
      return editEntry(this.#context, resource, entry, (object) => withoutOwners(object, new Set(lost)));
    }
    await this.#delete(resource, entry, waiting.length > 0);
  }

  /** Neither the owner nor its kind exists at the moment. */
  #mayComeBack({ apiVersion, kind }: OwnerLink): boolean {
    if (this.#unserved.isStable) return false;
    const { group, version } = splitApiVersion(apiVersion);
    return this.#context.registry().findKind(group, version, kind) === undefined;
  }

  /** An ordinary deletion. If an owner is in foreground deletion, the object waits for its dependants in turn. */
  async #delete(resource: ServedResource, entry: Entry, isOwnerWaiting: boolean): Promise<void> {
    const { namespace, name } = entry.key;
    const dependants = this.#context.store.dependants(entry.uid).filter(({ uid }) => uid !== entry.uid);
    const inForeground = isOwnerWaiting && dependants.length > 0;
    const blocks = ownerLinks(entry.object()).some((link) => link.blocks);
    if (inForeground && blocks && dependants.some(isDeletingDependants)) {
      // A cycle would wait for ever.
      await editEntry(this.#context, resource, entry, withoutBlocking);
      this.#queue.add(keyText(entry.key));
      return;
    }
    const propagationPolicy = inForeground ? "Foreground" : (heldPropagation(entry.object()) ?? "Background");
    // In another state it may have other owners.
    const preconditions = { uid: entry.uid, resourceVersion: String(entry.revision) };
    try {
      await deleteObject(this.#context, resource, { namespace, name }, { propagationPolicy, preconditions });
    } catch (thrown) {
      if (isConflict(thrown)) this.#queue.add(keyText(entry.key));
      else if (!isNotFound(thrown)) throw thrown;
    }
  }

  /** Deleting could be wrong, so only report it. */
  async #reportForeign(entry: Entry, ownerUid: string): Promise<void> {
    const { clock, registry, log } = this.#context;
    const object = entry.object();
    log.warn("owner reference into another namespace", { key: entry.key, ownerUid });
    const resource = registry().find("", "v1", "events");
    if (resource === undefined) return;
    const namespace = entry.key.namespace === "" ? "default" : entry.key.namespace;
    const time = formatTime(clock.now());
    const { apiVersion, kind } = object;
    const event = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { generateName: eventPrefix(entry.key.name) },
      involvedObject: { apiVersion, kind, namespace: entry.key.namespace, name: entry.key.name, uid: entry.uid },
      reason: "OwnerRefInvalidNamespace",
      message: `ownerRef with uid ${ownerUid} does not exist in namespace ${JSON.stringify(metaText(object, "namespace"))}`,
      type: "Warning",
      source: { component: "garbage-collector-controller" },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    try {
      await createObject(this.#context, resource, namespace, event, {});
    } catch (thrown) {
      // The namespace is terminating.
      if (!isForbidden(thrown) && !isNotFound(thrown)) throw thrown;
    }
  }
}

/** The truncated name must not end in a dash or dot. */
const eventPrefix = (name: string): string => `${name.slice(0, 50).replace(/[-.]+$/, "")}.`;

const sameOwners = (entry: Entry, previous: Entry | undefined): boolean =>
  previous !== undefined &&
  previous.owners.length === entry.owners.length &&
  previous.owners.every((uid, index) => uid === entry.owners[index]);

/** The parts separated by NUL, in the store's order. */
export const keyText = ({ group, resource, namespace, name }: StoreKey): string =>
  [group, resource, namespace, name].join("\u0000");

export function parseKeyText(text: string): StoreKey {
  const [group = "", resource = "", namespace = "", name = ""] = text.split("\u0000");
  return { group, resource, namespace, name };
}
