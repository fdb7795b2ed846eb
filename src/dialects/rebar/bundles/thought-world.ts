import type { AnyObject, Collection, ObjectOf, Prefs } from "../objects.ts";
import type { World } from "../world.ts";
import type { BundleObject } from "./content.ts";

type ByCollection<T> = { readonly [C in Collection]?: T };

/** A world with one bundle's objects in place of others: what it would be after a switch. */
export class ThoughtWorld implements World {
  readonly #base: World;
  readonly #added: ByCollection<Map<string, AnyObject>> = {};
  /** What is there when the bundle's present object goes. */
  readonly #below: (collection: Collection, key: string) => AnyObject | undefined;
  readonly #gone: ByCollection<Set<string>> = {};
  readonly #lists = new Map<Collection, readonly AnyObject[]>();

  constructor(
    base: World,
    change: {
      readonly added: readonly BundleObject[];
      readonly gone: readonly { readonly collection: Collection; readonly key: string }[];
      readonly below: (collection: Collection, key: string) => AnyObject | undefined;
    },
  ) {
    this.#base = base;
    this.#below = change.below;
    const added: { [C in Collection]?: Map<string, AnyObject> } = {};
    for (const { collection, key, object } of change.added) (added[collection] ??= new Map()).set(key, object);
    const gone: { [C in Collection]?: Set<string> } = {};
    for (const { collection, key } of change.gone) (gone[collection] ??= new Set()).add(key);
    this.#added = added;
    this.#gone = gone;
  }

  get prefs(): Prefs {
    return this.#base.prefs;
  }

  get<C extends Collection>(collection: C, key: string): ObjectOf[C] | undefined {
    const added = this.#added[collection]?.get(key);
    if (added !== undefined) return asOf<C>(added);
    if (this.#gone[collection]?.has(key) === true) return asOf<C>(this.#below(collection, key));
    return this.#base.get(collection, key);
  }

  all<C extends Collection>(collection: C): readonly ObjectOf[C][] {
    const known = this.#lists.get(collection);
    if (known !== undefined) return known.map((object) => asOf<C>(object));
    const keys = new Set([...this.#base.all(collection).map(keyIn), ...(this.#added[collection]?.keys() ?? [])]);
    const list = [...keys].toSorted().flatMap((key) => this.get(collection, key) ?? []);
    this.#lists.set(collection, list);
    return list;
  }

  /** With what is computed of a new object. */
  settle(collection: Collection, key: string, object: AnyObject): void {
    this.#added[collection]?.set(key, object);
    this.#lists.delete(collection);
  }
}

const keyIn = (object: AnyObject): string =>
  "Uuid" in object ? object.Uuid : "ID" in object ? object.ID : object.Name;

// Each collection's map holds objects of that collection.
function asOf<C extends Collection>(object: AnyObject): ObjectOf[C];
function asOf<C extends Collection>(object: AnyObject | undefined): ObjectOf[C] | undefined;
function asOf(object: AnyObject | undefined): AnyObject | undefined {
  return object;
}
