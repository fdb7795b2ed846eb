import type { JsonObject } from "#lib/base/index.ts";
import type { StoredEntry } from "./entry.ts";
import { EventRing } from "./ring.ts";
import { SortedIds } from "./sorted-ids.ts";
import type { Collection, StoreEvent, StoreKey } from "./store.ts";
import type { Subscriber } from "./subscribers.ts";

/**
 * One object's place. `published` is what everybody reads; `head` is what the next write builds on, and differs from it
 * while a write is on its way to disk. A slot without either is taken out of its collection.
 */
export interface Slot {
  readonly key: StoreKey;
  readonly id: string;
  readonly collection: CollectionImage;
  /** Undefined before the first commit and after a removal. */
  published: StoredEntry | undefined;
  /** Undefined when a removal is under way. */
  head: StoredEntry | undefined;
  /** Revision of the last write begun here, 0 for a slot that was only loaded: a removal has no head to tell it. */
  headRevision: number;
}

export function addTo(index: Map<string, Set<Slot>>, value: string, slot: Slot): void {
  const slots = index.get(value);
  if (slots === undefined) index.set(value, new Set([slot]));
  else slots.add(slot);
}

/** A value without slots leaves the index, so that it cannot grow with values of the past. */
export function removeFrom(index: Map<string, Set<Slot>>, value: string, slot: Slot): void {
  const slots = index.get(value);
  if (slots?.delete(slot) === true && slots.size === 0) index.delete(value);
}

export function publishedOf(slots: Iterable<Slot>): readonly StoredEntry[] {
  const entries: StoredEntry[] = [];
  for (const slot of slots) if (slot.published !== undefined) entries.push(slot.published);
  return entries;
}

// Collections are found by group and resource, objects within by one text of namespace and name. What is published and
// what is under way live in the same slot, so that a write finds its head and its index entries with one look-up.

/** Orders by namespace, then name, because no name contains a zero. */
export const idOf = (namespace: string, name: string): string => `${namespace}\0${name}`;

/** All objects of one group and resource. */
export class CollectionImage {
  readonly collection: Collection;
  readonly slots = new Map<string, Slot>();
  /** Ids of the slots that have a published state, in list order. */
  readonly published = new SortedIds();
  /** The retained events of this collection only; the store has one of all. */
  readonly ring = new EventRing();
  readonly subscribers = new Set<Subscriber>();
  /** Events of the commit being published, for the subscribers. */
  fresh: StoreEvent[] = [];
  /** Published objects; slots that only have a head do not count. */
  count = 0;

  constructor(collection: Collection) {
    this.collection = collection;
  }

  /** A slot may be there without a published state: its first write is on its way. */
  get(namespace: string, name: string): Slot | undefined {
    return this.slots.get(idOf(namespace, name));
  }

  /** The slot keeps the key it was made with, which all its entries share. */
  ensure(key: StoreKey): Slot {
    const id = idOf(key.namespace, key.name);
    const known = this.slots.get(id);
    if (known !== undefined) return known;
    const slot: Slot = { key, id, collection: this, published: undefined, head: undefined, headRevision: 0 };
    this.slots.set(id, slot);
    return slot;
  }
}

/** Every current object, with its indexes. Changes only when a commit is published, but for slots' heads. */
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

  /** Undefined for a collection that never had an object or a subscriber. */
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

  /** uids are unique over all collections, so one map serves them all. */
  byUid(uid: string): StoredEntry | undefined {
    return this.#byUid.get(uid)?.published;
  }

  /** In no particular order; empty when nobody names it, or when it does not exist at all. */
  dependants(uid: string): readonly StoredEntry[] {
    return publishedOf(this.#byOwner.get(uid) ?? []);
  }

  /**
   * Throws for an index that was not declared when the store was opened: that is a bug, not a question without answer.
   */
  indexed(index: string, value: string): readonly StoredEntry[] {
    const extra = this.#extra.get(index);
    if (extra === undefined) throw new Error(`the store has no index ${JSON.stringify(index)}`);
    const { group, resource } = extra.definition.collection;
    return publishedOf(extra.find(value, () => this.find(group, resource)?.slots.values() ?? []));
  }

  /** Makes `next` (or nothing) the published state of a slot as of `revision`. Heads are left alone. */
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
      // With a later write under way the slot goes on, even when that write ends in nothing again.
      if (slot.headRevision <= revision) collection.slots.delete(slot.id);
    } else if (published.uid !== next.uid) {
      this.#byUid.delete(published.uid);
      this.#byUid.set(next.uid, slot);
    }
    this.#bytes += (next?.bytes.length ?? 0) - (published?.bytes.length ?? 0);
    this.#reindexOwners(slot, published?.owners ?? [], next?.owners ?? []);
    for (const extra of this.#extra.values()) extra.update(slot);
  }

  /** Most objects have no owner or keep the ones they have. */
  #reindexOwners(slot: Slot, before: readonly string[], after: readonly string[]): void {
    if (before.length === 0 && after.length === 0) return;
    for (const owner of before) if (!after.includes(owner)) removeFrom(this.#byOwner, owner, slot);
    for (const owner of after) if (!before.includes(owner)) addTo(this.#byOwner, owner, slot);
  }
}

/** An index of one collection by values found in its objects, such as the object an Event is about. */
export interface IndexDefinition {
  readonly name: string;
  readonly collection: Collection;
  /** Pure. An object with no values is not in the index. */
  values(object: JsonObject): readonly string[];
}

/**
 * Built when first asked, because it parses every object of its collection, and kept up to date from then on. The first
 * question therefore costs O(objects of the collection), each later one O(answers).
 */
export class ExtraIndex {
  readonly definition: IndexDefinition;
  readonly #slotsByValue = new Map<string, Set<Slot>>();
  /** What each slot was filed under, because its earlier state is gone when the new one is filed. */
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

  /** Takes note of a slot's newly published state. */
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
