import type { JsonObject } from "#lib/base/index.ts";
import { type ChangeType, encodeRecord, keyText, recordJson } from "./codec.ts";
import type { DiskWrite } from "./disk.ts";
import { StoredEntry } from "./entry.ts";
import { nameOf } from "./errors.ts";
import type { Slot } from "./image.ts";
import { type Metadata, metadataOf, shared } from "./metadata.ts";
import { atRevision, objectText } from "./object-bytes.ts";
import type { StoreState } from "./state.ts";
import type { Collection, Entry, StoreKey, Transaction } from "./store.ts";

/** A change that has its revision and waits for the disk. */
export interface Write extends DiskWrite {
  readonly type: ChangeType;
  readonly slot: Slot;
  /** The new state; for a delete the last one, under the revision of the deletion. */
  readonly entry: StoredEntry;
  readonly previous: StoredEntry | undefined;
  /** The slot's head revision before, for the rollback. */
  readonly formerRevision: number;
}

/** One run of the critical section. Synchronous; after `end` every call throws. */
export class Session implements Transaction {
  readonly writes: Write[] = [];
  readonly #state: StoreState;
  readonly #firstRevision: number;
  /** Highest revision among the heads read; 0 when only published states were. */
  #seen = 0;
  #ended = false;
  /** The slot found last: most work reads a head and then writes it. */
  #lastKey: StoreKey | undefined;
  #lastSlot: Slot | undefined;

  constructor(state: StoreState) {
    this.#state = state;
    this.#firstRevision = state.head;
  }

  get seen(): number {
    return this.#seen;
  }

  head(key: StoreKey): Entry | undefined {
    this.#assertOpen();
    const slot = this.#find(key);
    if (slot !== undefined && slot.headRevision > this.#seen) this.#seen = slot.headRevision;
    return slot?.head;
  }

  /** A decision from all of them depends on every write under way, so the latest counts as seen. */
  *heads({ group, resource }: Collection, namespace?: string): Generator<Entry> {
    this.#assertOpen();
    const slots = this.#state.image.find(group, resource)?.slots.values() ?? [];
    this.#seen = Math.max(this.#seen, this.#firstRevision);
    for (const { key, head } of slots)
      if (head !== undefined && (namespace === undefined || key.namespace === namespace)) yield head;
  }

  /** Takes no copy: `object` is frozen when its entry's object is first read. */
  put(key: StoreKey, object: JsonObject, prunedBy?: object): Entry {
    this.#assertOpen();
    const before = this.#find(key)?.head;
    const meta = metadataAfter(before, object);
    assertNamed(key, meta);
    if (before !== undefined && meta !== before.meta) assertSame(key, before.meta, meta);
    return this.#write(before === undefined ? "add" : "modify", key, before, object, meta, prunedBy);
  }

  /** Refuses an object with finalizers. */
  remove(key: StoreKey, last?: JsonObject): Entry {
    this.#assertOpen();
    const before = this.#find(key)?.head;
    if (before === undefined) throw new Error(`${nameOf(key)} is not there to be removed`);
    const object = last ?? before.object();
    const meta = last === undefined ? before.meta : metadataOf(last);
    assertNamed(key, meta);
    assertSame(key, before.meta, meta);
    if (meta.hasFinalizers) throw new Error(`${nameOf(key)} has finalizers and must not be removed`);
    return this.#write("delete", key, before, object, meta);
  }

  /** Undoes writes, last first, since an object may have two. Revisions are reused, as no reader saw them. */
  rollback(): void {
    for (const { slot, previous, formerRevision } of this.writes.reverse()) {
      slot.head = previous;
      slot.headRevision = formerRevision;
      if (formerRevision === 0 && previous === undefined) slot.collection.slots.delete(slot.id);
    }
    this.#state.head = this.#firstRevision;
    this.writes.length = 0;
  }

  end(): void {
    this.#ended = true;
  }

  /** Everything that can throw comes first, so that a failed write leaves no trace. */
  #write(
    type: ChangeType,
    key: StoreKey,
    previous: StoredEntry | undefined,
    object: JsonObject,
    meta: Metadata,
    prunedBy?: object,
  ): StoredEntry {
    const { image, head, slab, cache } = this.#state;
    const revision = head + 1;
    const prevRevision = previous?.revision ?? 0;
    const createRevision = previous?.createRevision ?? revision;
    const source = atRevision(object, revision);
    const text = objectText(source, previous);
    const record = encodeRecord({ type, prevRevision, key: keyText(key), createRevision, revision, text }, slab);
    // Nothing can fail from here on.
    const slot = this.#find(key) ?? image.ensure(key.group, key.resource).ensure(key);
    const ownMeta = shared(meta, previous?.meta);
    const fresh = { source, parts: text.parts, prunedBy };
    const entry = new StoredEntry(slot.key, createRevision, revision, recordJson(record), ownMeta, cache, fresh);
    previous?.outdate();
    const { headRevision: formerRevision } = slot;
    const deletes = type === "delete";
    this.writes.push({ type, deletes, slot, revision, entry, previous, formerRevision, record, inlined: undefined });
    slot.head = deletes ? undefined : entry;
    slot.headRevision = revision;
    this.#state.head = revision;
    return entry;
  }

  #find(key: StoreKey): Slot | undefined {
    if (key === this.#lastKey && this.#lastSlot !== undefined) return this.#lastSlot;
    this.#lastKey = key;
    this.#lastSlot = this.#state.image.find(key.group, key.resource)?.get(key.namespace, key.name);
    return this.#lastSlot;
  }

  #assertOpen(): void {
    if (this.#ended) throw new Error("a store transaction was used after its critical section");
  }
}

/** A status write keeps the very metadata of the parsed object, which then need not be read again. */
const metadataAfter = (before: StoredEntry | undefined, object: JsonObject): Metadata =>
  before?.parsed !== undefined && before.parsed["metadata"] === object["metadata"] ? before.meta : metadataOf(object);

// The request pipeline ensures these rules and answers in the API's words; a broken one here is a bug.

function assertNamed(key: StoreKey, meta: Metadata): void {
  if (meta.name !== key.name || meta.namespace !== key.namespace) {
    throw new Error(`${nameOf(key)} was given an object named ${JSON.stringify(`${meta.namespace}/${meta.name}`)}`);
  }
  if (meta.uid === "") throw new Error(`${nameOf(key)} was given an object without uid`);
}

function assertSame(key: StoreKey, before: Metadata, after: Metadata): void {
  if (before.uid !== after.uid) throw new Error(`${nameOf(key)} must not change its uid`);
  if (before.created !== after.created) throw new Error(`${nameOf(key)} must not change its creationTimestamp`);
  if (before.terminating && !after.terminating) throw new Error(`${nameOf(key)} must not lose its deletionTimestamp`);
}
