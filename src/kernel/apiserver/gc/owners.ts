import { formatTime, isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { isConflict, isNotFound } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry, StoreEvent, StoreKey } from "../store/store.ts";
import { changeObject } from "../verbs/change.ts";
import type { ApiContext } from "../verbs/context.ts";
import { createObject } from "../verbs/create.ts";
import { deleteObject } from "../verbs/delete.ts";
import { isTerminating, metadataOf, metaText, withMetadata } from "../verbs/metadata.ts";
import { servedFor } from "../verbs/storage-view.ts";
import { KeyQueue } from "./key-queue.ts";
import { keyText, parseKeyText } from "./store-key-text.ts";

const scanChunk = 1000;

/**
 * Background garbage collection: when the owners of an object are all gone, the object is deleted; when only some are, their
 * references are dropped. Driven by events, with one scan at the start for what happened while nobody watched.
 */
export class OwnerCollector {
  readonly #context: ApiContext;
  readonly #queue: KeyQueue;
  #closed = false;

  constructor(context: ApiContext) {
    this.#context = context;
    const { clock } = context;
    this.#queue = new KeyQueue({ work: (key) => this.#collect(parseKeyText(key)), clock, log: context.log });
  }

  /** Looks at all objects once. Others have their turn in between. */
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

  observe(events: readonly StoreEvent[]): void {
    for (const { type, entry, previous } of events) {
      if (type === "delete") {
        for (const dependant of this.#context.store.dependants(entry.uid)) this.#queue.add(keyText(dependant.key));
      } else if (entry.owners.length > 0 && !sameOwners(entry, previous)) {
        this.#check(entry);
      }
    }
  }

  get idle(): boolean {
    return this.#queue.idle;
  }

  close(): Promise<void> {
    this.#closed = true;
    return this.#queue.close();
  }

  #check(entry: Entry): void {
    const { store } = this.#context;
    const settled = entry.owners.every((uid) => {
      const owner = store.byUid(uid);
      return owner !== undefined && mayOwn(owner, entry);
    });
    if (!settled) this.#queue.add(keyText(entry.key));
  }

  async #collect(key: StoreKey): Promise<void> {
    const { store, registry } = this.#context;
    const entry = store.get(key);
    const resource = servedFor(registry(), key);
    if (entry === undefined || resource === undefined || isTerminating(entry.object())) return;
    const owners = entry.owners.map((uid) => ({ uid, owner: store.byUid(uid) }));
    const foreign = owners.find(({ owner }) => owner !== undefined && !mayOwn(owner, entry));
    const gone = owners.filter(({ owner }) => owner === undefined).map(({ uid }) => uid);
    if (foreign !== undefined) await this.#reportForeign(entry, foreign.uid);
    else if (gone.length === owners.length && gone.length > 0) await this.#delete(resource, entry);
    else if (gone.length > 0) await this.#dropReferences(resource, entry, new Set(gone));
  }

  async #delete(resource: ServedResource, entry: Entry): Promise<void> {
    const { namespace, name } = entry.key;
    // The state that was judged: another one may have other owners.
    const preconditions = { uid: entry.uid, resourceVersion: String(entry.revision) };
    try {
      await deleteObject(this.#context, resource, { namespace, name }, { preconditions });
    } catch (thrown) {
      if (isConflict(thrown)) this.#queue.add(keyText(entry.key));
      else if (!isNotFound(thrown)) throw thrown;
    }
  }

  async #dropReferences(resource: ServedResource, entry: Entry, gone: ReadonlySet<string>): Promise<void> {
    const { namespace, name } = entry.key;
    const isGone = (uid: JsonValue | undefined) => typeof uid === "string" && gone.has(uid);
    const compute = (old: JsonObject) => {
      const references = metadataOf(old)["ownerReferences"];
      const kept = (Array.isArray(references) ? references : []).filter(
        (reference: JsonValue) => !(isJsonObject(reference) && isGone(reference["uid"])),
      );
      return { object: withMetadata(old, { ownerReferences: kept }), warnings: [] };
    };
    const change = { resource, namespace, name, endpoint: "main", request: {}, replaces: false, compute } as const;
    await changeObject(this.#context, change).catch(ignoreNotFound);
  }

  /** An owner in another namespace cannot be right, and deleting for it might be wrong: tell, and leave it alone. */
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
      metadata: { generateName: `${entry.key.name.slice(0, 50)}.` },
      involvedObject: { apiVersion, kind, namespace: entry.key.namespace, name: entry.key.name, uid: entry.uid },
      reason: "OwnerRefInvalidNamespace",
      message: `ownerRef with uid ${ownerUid} does not exist in namespace ${JSON.stringify(metaText(object, "namespace"))}`,
      type: "Warning",
      source: { component: "garbage-collector-controller" },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    await createObject(this.#context, resource, namespace, event, {});
  }
}

const sameOwners = (entry: Entry, previous: Entry | undefined): boolean =>
  previous !== undefined &&
  previous.owners.length === entry.owners.length &&
  previous.owners.every((uid, index) => uid === entry.owners[index]);

/** Owners are in the same namespace or cluster-scoped; a cluster-scoped object has cluster-scoped owners only. */
const mayOwn = (owner: Entry, dependant: Entry): boolean =>
  owner.key.namespace === "" || owner.key.namespace === dependant.key.namespace;

function ignoreNotFound(thrown: unknown): void {
  if (!isNotFound(thrown)) throw thrown;
}
