import type { KubeObject, Stored } from "#kernel/model/index.ts";

/** The values under which an index finds an object; none when it is not to be found. Pure. */
export type IndexFunction<T extends KubeObject = KubeObject> = (object: Stored<T>) => readonly string[];

/** Index functions by name. */
export type Indexers<T extends KubeObject = KubeObject> = Readonly<Record<string, IndexFunction<T>>>;

/** A set per value; values without keys are forgotten, so an index is as large as what is in it. */
interface Index<T extends KubeObject> {
  readonly valuesOf: IndexFunction<T>;
  readonly keysByValue: Map<string, Set<string>>;
}

/**
 * Objects by key with any number of indexes. All operations cost O(1) per index value touched; reads copy nothing. Index functions are
 * asked about an object when it comes and again when it goes, so they must give the same for the same object.
 */
export class IndexedStore<T extends KubeObject = KubeObject> {
  readonly #objects = new Map<string, Stored<T>>();
  readonly #indexes = new Map<string, Index<T>>();

  get size(): number {
    return this.#objects.size;
  }

  /** The object as it was stored, not a copy. */
  get(key: string): Stored<T> | undefined {
    return this.#objects.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  /** In the order in which keys came. Must not be held over a change. */
  entries(): IterableIterator<[string, Stored<T>]> {
    return this.#objects.entries();
  }

  /** Adds an index over present and future objects. One of the same name must be the same function. */
  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    const present = this.#indexes.get(name);
    if (present?.valuesOf === valuesOf) return;
    if (present !== undefined) throw new Error(`the index "${name}" exists already with another function`);
    const index: Index<T> = { valuesOf, keysByValue: new Map() };
    for (const [key, object] of this.#objects) addTo(index, key, object);
    this.#indexes.set(name, index);
  }

  /** The function behind an index. Throws when there is none: asking an index nobody added is a bug. */
  indexFunction(name: string): IndexFunction<T> {
    return this.#index(name).valuesOf;
  }

  /** Keys of the objects found under a value. */
  keysByIndex(name: string, value: string): ReadonlySet<string> {
    return this.#index(name).keysByValue.get(value) ?? nothing;
  }

  /** Stores an object and answers with the one it replaces. */
  set(key: string, object: Stored<T>): Stored<T> | undefined {
    const previous = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) {
      if (previous !== undefined) removeFrom(index, key, previous);
      addTo(index, key, object);
    }
    return previous;
  }

  /** Removes an object and answers with it; undefined when there was none. */
  delete(key: string): Stored<T> | undefined {
    const previous = this.#objects.get(key);
    if (previous === undefined) return undefined;
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) removeFrom(index, key, previous);
    return previous;
  }

  #index(name: string): Index<T> {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`there is no index "${name}"`);
    return index;
  }
}

/** One for all: most values that are asked for have no keys. */
const nothing: ReadonlySet<string> = new Set();

function addTo<T extends KubeObject>({ valuesOf, keysByValue }: Index<T>, key: string, object: Stored<T>): void {
  for (const value of valuesOf(object)) {
    const keys = keysByValue.get(value);
    if (keys === undefined) keysByValue.set(value, new Set([key]));
    else keys.add(key);
  }
}

/** The counterpart of addTo for the same object; a value that nothing is left under is forgotten. */
function removeFrom<T extends KubeObject>({ valuesOf, keysByValue }: Index<T>, key: string, object: Stored<T>): void {
  for (const value of valuesOf(object)) {
    const keys = keysByValue.get(value);
    keys?.delete(key);
    if (keys?.size === 0) keysByValue.delete(value);
  }
}
