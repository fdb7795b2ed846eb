import type { JsonObject } from "#lib/base/index.ts";
import { type ChangeType, encodeRecord, type EncodedRecord, keyText, recordJsonStart } from "./codec.ts";
import { StoredEntry } from "./entry.ts";
import { nameOf } from "./errors.ts";
import type { Slot } from "./slot.ts";
import { type Metadata, metadataOf, shared } from "./metadata.ts";
import { storedJson, withRevision } from "./object-bytes.ts";
import type { StoreState } from "./state.ts";
import type { Entry, StoreKey, Transaction } from "./store.ts";

/** A change that has its revision and waits for the disk. */
export interface Write {
  readonly type: ChangeType;
  readonly slot: Slot;
  readonly revision: number;
  /** The new state; for a delete the last one, under the revision of the deletion. */
  readonly entry: StoredEntry;
  readonly previous: StoredEntry | undefined;
  readonly record: EncodedRecord;
}

interface Undo {
  readonly slot: Slot;
  readonly head: StoredEntry | undefined;
  readonly headRevision: number;
}

/** One run of the critical section. Synchronous; after `end` every call throws. */
export class Session implements Transaction {
  readonly writes: Write[] = [];
  readonly #state: StoreState;
  readonly #undo: Undo[] = [];
  readonly #firstRevision: number;
  #seen = 0;
  #ended = false;

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
    const slot = this.#state.image.find(key.group, key.resource)?.get(key.namespace, key.name);
    if (slot !== undefined && slot.headRevision > this.#seen) this.#seen = slot.headRevision;
    return slot?.head;
  }

  put(key: StoreKey, object: JsonObject): Entry {
    this.#assertOpen();
    const meta = metadataOf(object);
    assertNamed(key, meta);
    const slot = this.#state.image.ensure(key.group, key.resource).ensure(key);
    const before = slot.head;
    if (before !== undefined) assertSame(key, before.meta, meta);
    const entry = this.#write(before === undefined ? "add" : "modify", slot, object, meta);
    slot.head = entry;
    return entry;
  }

  remove(key: StoreKey, last?: JsonObject): Entry {
    this.#assertOpen();
    const slot = this.#state.image.find(key.group, key.resource)?.get(key.namespace, key.name);
    const before = slot?.head;
    if (slot === undefined || before === undefined) throw new Error(`${nameOf(key)} is not there to be removed`);
    const object = last ?? before.object();
    const meta = last === undefined ? before.meta : metadataOf(last);
    assertNamed(key, meta);
    assertSame(key, before.meta, meta);
    if (meta.hasFinalizers) throw new Error(`${nameOf(key)} has finalizers and must not be removed`);
    const entry = this.#write("delete", slot, object, meta);
    slot.head = undefined;
    return entry;
  }

  /** Takes everything back. */
  rollback(): void {
    for (const { slot, head, headRevision } of this.#undo.reverse()) {
      slot.head = head;
      slot.headRevision = headRevision;
      if (headRevision === 0 && head === undefined) slot.collection.slots.delete(slot.id);
    }
    this.#state.head = this.#firstRevision;
    this.writes.length = 0;
  }

  end(): void {
    this.#ended = true;
  }

  #write(type: ChangeType, slot: Slot, object: JsonObject, meta: Metadata): StoredEntry {
    const previous = slot.head;
    const revision = this.#state.head + 1;
    const createRevision = previous?.createRevision ?? revision;
    const json = storedJson(object);
    const prevRevision = previous?.revision ?? 0;
    const { slab, records, cache } = this.#state;
    const record = encodeRecord(
      {
        type,
        prevRevision,
        key: keyText(slot.key),
        createRevision,
        revision,
        json,
        jsonBytes: Buffer.byteLength(json),
      },
      (length) => records.take(length),
    );
    const bytes = withRevision(record.bytes, recordJsonStart(record), revision, (length) => slab.take(length));
    const entry = new StoredEntry(
      slot.key,
      createRevision,
      revision,
      bytes,
      shared(meta, previous?.meta),
      cache,
      object,
    );
    this.#undo.push({ slot, head: previous, headRevision: slot.headRevision });
    slot.headRevision = revision;
    this.#state.head = revision;
    this.writes.push({ type, slot, revision, entry, previous, record });
    return entry;
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
