import type { StoredEntry } from "./entry.ts";
import type { CollectionImage } from "./image.ts";
import type { StoreKey } from "./store.ts";

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
