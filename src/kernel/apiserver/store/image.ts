import type { JsonObject } from "#lib/base/index.ts";
import type { StoredEntry } from "./entry.ts";
import { EventRing } from "./ring.ts";
import { SortedIds } from "./sorted-ids.ts";
import type { Collection, StoreEvent, StoreKey } from "./store.ts";
import type { Subscriber } from "./subscribers.ts";

/** `published` is for readers, `head` for the next write. A slot without either is removed. */
export interface Slot {
  readonly key: StoreKey;
  readonly id: string;
  readonly collection: CollectionImage;
  /** Undefined before the first commit and after a removal. */
  published: StoredEntry | undefined;
  /** Undefined while a removal is committed. */
  head: StoredEntry | undefined;
  /** Revision of the last write begun here, also of a removal; 0 when loaded. */
  headRevision: number;
}

export function addTo(index: Map<string, Set<Slot>>, value: string, slot: Slot): void {
  const slots = index.get(value);
  if (slots === undefined) index.set(value, new Set([slot]));
  else slots.add(slot);
}

/** Removes empty values, which would accumulate. */
export function removeFrom(index: Map<string, Set<Slot>>, value: string, slot: Slot): void {
  const slots = index.get(value);
  if (slots?.delete(slot) === true && slots.size === 0) index.delete(value);
}

export function publishedOf(slots: Iterable<Slot>): readonly StoredEntry[] {
  const entries: StoredEntry[] = [];
  for (const slot of slots) if (slot.published !== undefined) entries.push(slot.published);
  return entries;
}

// Published and pending states share a slot, so a write needs one look-up.

/** Orders by namespace, then name, because no name contains a zero. */
export const idOf = (namespace: string, name: string): string => `${namespace}\0${name}`;

export class CollectionImage {
  readonly collection: Collection;
  readonly slots = new Map<string, Slot>();
  /** Ids of published slots, in list order. */
  readonly published = new SortedIds();
  /** The retained events of this collection. */
  readonly ring = new EventRing();
  readonly subscribers = new Set<Subscriber>();
  fresh: StoreEvent[] = [];
  /** Published objects only. */
  count = 0;

  constructor(collection: Collection) {
    this.collection = collection;
  }

  /** A slot may have no published state yet. */
  get(namespace: string, name: string): Slot | undefined {
    return this.slots.get(idOf(namespace, name));
  }

  /** All entries share the slot's key. */
  ensure(key: StoreKey): Slot {
    const id = idOf(key.namespace, key.name);
    const known = this.slots.get(id);
    if (known !== undefined) return known;
    const slot: Slot = { key, id, collection: this, published: undefined, head: undefined, headRevision: 0 };
    this.slots.set(id, slot);
    return slot;
  }
}

/** All current objects with their indexes. Publishing changes it; only heads change before. */
export class Image {
  readonly #groups = new Map<string, Map<string, CollectionImage>>();
  readonly #byUid = new Map<string, Slot>();
  readonly #byOwner = new Map<string, Set<Slot>>();
  readonly #extra: ReadonlyMap<string, ExtraIndex>;
  #objects = 0;
  #bytes = 0;

  constructor(indexes: readonly IndexDefinition[]) {
    this.#extra = new Map(indexes.map((index) => [index.name, new ExtraIndex(index)]));
  }

  get objects(): number {
    return this.#objects;
  }

  /** Bytes of all published objects' JSON. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Undefined without any object or subscriber. */
  find(group: string, resource: string): CollectionImage | undefined {
    return this.#groups.get(group)?.get(resource);
  }

  ensure(group: string, resource: string): CollectionImage {
    let byResource = this.#groups.get(group);
    if (byResource === undefined) this.#groups.set(group, (byResource = new Map()));
    let collection = byResource.get(resource);
    if (collection === undefined) {
      byResource.set(resource, (collection = new CollectionImage(Object.freeze({ group, resource }))));
    }
    return collection;
  }

  *collections(): Generator<CollectionImage> {
    for (const byResource of this.#groups.values()) yield* byResource.values();
  }

  /** uids are unique over all collections. */
  byUid(uid: string): StoredEntry | undefined {
    return this.#byUid.get(uid)?.published;
  }

  /** Unordered. */
  dependants(uid: string): readonly StoredEntry[] {
    return publishedOf(this.#byOwner.get(uid) ?? []);
  }

  /** Throws for an index that was not declared at opening, which is a bug. */
  indexed(index: string, value: string): readonly StoredEntry[] {
    const extra = this.#extra.get(index);
    if (extra === undefined) throw new Error(`the store has no index ${JSON.stringify(index)}`);
    const { group, resource } = extra.definition.collection;
    return publishedOf(extra.find(value, () => this.find(group, resource)?.slots.values() ?? []));
  }

  /** `undefined` removes the object as of `revision`. Keeps the head. */
  publish(slot: Slot, next: StoredEntry | undefined, revision: number): void {
    const { collection, published } = slot;
    slot.published = next;
    if (published === undefined) {
      if (next === undefined) return;
      collection.published.add(slot.id);
      collection.count++;
      this.#objects++;
      this.#byUid.set(next.uid, slot);
    } else if (next === undefined) {
      collection.published.remove(slot.id);
      collection.count--;
      this.#objects--;
      this.#byUid.delete(published.uid);
      // A later pending write keeps the slot, even a removal.
      if (slot.headRevision <= revision) collection.slots.delete(slot.id);
    } else if (published.uid !== next.uid) {
      this.#byUid.delete(published.uid);
      this.#byUid.set(next.uid, slot);
    }
    this.#bytes += (next?.bytes.length ?? 0) - (published?.bytes.length ?? 0);
    this.#reindexOwners(slot, published?.owners ?? [], next?.owners ?? []);
    for (const extra of this.#extra.values()) extra.update(slot);
  }

  /** Most objects have no owner or keep them. */
  #reindexOwners(slot: Slot, before: readonly string[], after: readonly string[]): void {
    if (before.length === 0 && after.length === 0) return;
    for (const owner of before) if (!after.includes(owner)) removeFrom(this.#byOwner, owner, slot);
    for (const owner of after) if (!before.includes(owner)) addTo(this.#byOwner, owner, slot);
  }
}

/** Indexes one collection by values in its objects. */
export interface IndexDefinition {
  readonly name: string;
  readonly collection: Collection;
  /** Pure. Without values the object is not in the index. */
  values(object: JsonObject): readonly string[];
}

/** Built on first use in O(objects), because it parses them; then updated. Later questions cost O(answers). */
export class ExtraIndex {
  readonly definition: IndexDefinition;
  readonly #slotsByValue = new Map<string, Set<Slot>>();
  /** For removal, when the earlier state is no longer known. */
  readonly #valuesBySlot = new Map<Slot, readonly string[]>();
  #built = false;

  constructor(definition: IndexDefinition) {
    this.definition = definition;
  }

  find(value: string, all: () => Iterable<Slot>): Iterable<Slot> {
    if (!this.#built) {
      this.#built = true;
      for (const slot of all()) this.update(slot);
    }
    return this.#slotsByValue.get(value) ?? [];
  }

  update(slot: Slot): void {
    const { group, resource } = this.definition.collection;
    const { collection } = slot.collection;
    if (!this.#built || collection.resource !== resource || collection.group !== group) return;
    for (const value of this.#valuesBySlot.get(slot) ?? []) removeFrom(this.#slotsByValue, value, slot);
    this.#valuesBySlot.delete(slot);
    if (slot.published === undefined) return;
    const values = this.definition.values(slot.published.object());
    if (values.length === 0) return;
    this.#valuesBySlot.set(slot, values);
    for (const value of values) addTo(this.#slotsByValue, value, slot);
  }
}
