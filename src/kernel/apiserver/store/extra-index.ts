import type { JsonObject } from "#lib/base/index.ts";
import { addTo, removeFrom, type Slot } from "./slot.ts";
import type { Collection } from "./store.ts";

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
