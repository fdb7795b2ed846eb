import type { JsonObject } from "#lib/base/index.ts";
import { type ChangeType, encodeRecord, keyText, recordJsonStart } from "./codec.ts";
import type { DiskWrite } from "./disk.ts";
import { StoredEntry } from "./entry.ts";
import { nameOf } from "./errors.ts";
import type { Slot } from "./slot.ts";
import { type Metadata, metadataOf, shared } from "./metadata.ts";
import { storedJson, withRevision } from "./object-bytes.ts";
import type { StoreState } from "./state.ts";
import type { Entry, StoreKey, Transaction } from "./store.ts";

/** A change that has its revision and waits for the disk. */
export interface Write extends DiskWrite {
  readonly type: ChangeType;
  readonly slot: Slot;
  /** The new state; for a delete the last one, under the revision of the deletion. */
  readonly entry: StoredEntry;
  readonly previous: StoredEntry | undefined;
  /** The slot's head revision before, for taking the change back. */
  readonly formerRevision: number;
}

/** One run of the critical section. Synchronous; after `end` every call throws. */
export class Session implements Transaction {
  readonly writes: Write[] = [];
  readonly #state: StoreState;
  readonly #firstRevision: number;
  #seen = 0;
  #ended = false;
  #lastKey: StoreKey | undefined;
  #lastSlot: Slot | undefined;

  constructor(state: StoreState) {
    this.#state = state;
    this.#firstRevision = state.head;
  }

  /** The latest revision that what was read depends on. */
  get seen(): number {
    return this.#seen;
  }

  head(key: StoreKey): Entry | undefined {
    this.#assertOpen();
    const slot = this.#find(key);
    if (slot !== undefined && slot.headRevision > this.#seen) this.#seen = slot.headRevision;
    return slot?.head;
  }

  put(key: StoreKey, object: JsonObject): Entry {
    this.#assertOpen();
    const meta = metadataOf(object);
    assertNamed(key, meta);
    const before = this.#find(key)?.head;
    if (before !== undefined) assertSame(key, before.meta, meta);
    return this.#write(before === undefined ? "add" : "modify", key, before, object, meta);
  }

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

  /** Takes everything back. */
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

  #write(
    type: ChangeType,
    key: StoreKey,
    previous: StoredEntry | undefined,
    object: JsonObject,
    meta: Metadata,
  ): StoredEntry {
    const { image, head, slab, records, cache } = this.#state;
    const revision = head + 1;
    const prevRevision = previous?.revision ?? 0;
    const createRevision = previous?.createRevision ?? revision;
    const json = storedJson(object);
    const sizes = { json, jsonBytes: Buffer.byteLength(json) };
    const record = encodeRecord({ type, prevRevision, key: keyText(key), createRevision, revision, ...sizes }, records);
    const bytes = withRevision(record.bytes, recordJsonStart(record), revision, slab);
    // From here on nothing can fail: a slot that is made is filled.
    const slot = this.#find(key) ?? image.ensure(key.group, key.resource).ensure(key);
    const ownMeta = shared(meta, previous?.meta);
    const entry = new StoredEntry(slot.key, createRevision, revision, bytes, ownMeta, cache, object);
    const { headRevision: formerRevision } = slot;
    const deletes = type === "delete";
    this.writes.push({ type, deletes, slot, revision, entry, previous, formerRevision, record, inlined: undefined });
    slot.head = deletes ? undefined : entry;
    slot.headRevision = revision;
    this.#state.head = revision;
    return entry;
  }

  // Work usually reads the head of what it then writes, with the same key in hand.
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

// The request pipeline keeps these laws and answers in the API's words; here a broken one is a bug, and nothing is written.

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
