import { type KubeObject, keyOf, type Stored } from "#kernel/model/index.ts";
import { SortedList } from "./sorted-list.ts";

/** The values under which an index finds an object; none when it is not to be found. Pure. */
export type IndexFunction<T extends KubeObject = KubeObject> = (object: Stored<T>) => readonly string[];

/** Index functions by name. */
export type Indexers<T extends KubeObject = KubeObject> = Readonly<Record<string, IndexFunction<T>>>;

/** The order of what an index finds, by what never changes of an object: no two objects are equal, two versions of one always are. */
export type IndexOrder<T extends KubeObject = KubeObject> = (a: Stored<T>, b: Stored<T>) => number;

/** What is found under one value: a set of keys, or objects in order. */
interface Found<T extends KubeObject> {
  readonly size: number;
  add(key: string, object: Stored<T>): unknown;
  /** Another version of an object that is there. */
  replace(key: string, object: Stored<T>): unknown;
  delete(key: string, object: Stored<T>): unknown;
  keys(): Iterable<string>;
}

/** Values without keys are forgotten, so an index is as large as what is in it. */
interface Index<T extends KubeObject> {
  readonly valuesOf: IndexFunction<T>;
  readonly newFound: () => Found<T>;
  readonly foundByValue: Map<string, Found<T>>;
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

  /**
   * Adds an index over present and future objects; what it finds is found in that order, or in none. One of the same name must be the
   * same function. Changes of an index with an order cost O(log n).
   */
  addIndex(name: string, valuesOf: IndexFunction<T>, order?: IndexOrder<T>): void {
    const present = this.#indexes.get(name);
    if (present?.valuesOf === valuesOf) return;
    if (present !== undefined) throw new Error(`the index "${name}" exists already with another function`);
    const newFound = (): Found<T> => (order === undefined ? new Keys() : new InOrder<T>(order));
    const index: Index<T> = { valuesOf, newFound, foundByValue: new Map() };
    for (const [key, object] of this.#objects) addTo(index, key, object);
    this.#indexes.set(name, index);
  }

  /** The function behind an index. Throws when there is none: asking an index nobody added is a bug. */
  indexFunction(name: string): IndexFunction<T> {
    return this.#index(name).valuesOf;
  }

  /** Keys of the objects found under a value, in the order of the index. Costs what is read of it; must not be held over a change. */
  keysByIndex(name: string, value: string): Iterable<string> {
    return this.#index(name).foundByValue.get(value)?.keys() ?? nothing;
  }

  /** Stores an object and answers with the one it replaces. */
  set(key: string, object: Stored<T>): Stored<T> | undefined {
    const previous = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const index of this.#indexes.values())
      if (previous === undefined) addTo(index, key, object);
      else move(index, key, previous, object);
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
const nothing: readonly string[] = [];

/** Objects of one value, in no order. */
class Keys extends Set<string> {
  /** Their names are all that is kept of them. */
  replace(): void {}
}

/** Objects of one value in the order of their index. */
class InOrder<T extends KubeObject> implements Found<T> {
  readonly #objects: SortedList<Stored<T>>;

  constructor(order: IndexOrder<T>) {
    this.#objects = new SortedList(order);
  }

  get size(): number {
    return this.#objects.size;
  }

  add(_key: string, object: Stored<T>): void {
    this.#objects.add(object);
  }

  replace(_key: string, object: Stored<T>): void {
    this.#objects.replace(object);
  }

  delete(_key: string, object: Stored<T>): void {
    this.#objects.delete(object);
  }

  *keys(): Generator<string> {
    for (const { metadata } of this.#objects) yield keyOf(metadata);
  }
}

function addTo<T extends KubeObject>({ valuesOf, newFound, foundByValue }: Index<T>, key: string, object: Stored<T>) {
  for (const value of valuesOf(object)) {
    let found = foundByValue.get(value);
    if (found === undefined) foundByValue.set(value, (found = newFound()));
    found.add(key, object);
  }
}

/** What both versions are found under stays where it is: most changes of an object are not about what it is found by. */
function move<T extends KubeObject>(index: Index<T>, key: string, previous: Stored<T>, object: Stored<T>): void {
  const [before, after] = [index.valuesOf(previous), index.valuesOf(object)];
  if (before.length === after.length && before.every((value, at) => value === after[at])) {
    for (const value of after) index.foundByValue.get(value)?.replace(key, object);
    return;
  }
  removeFrom(index, key, previous);
  addTo(index, key, object);
}

/** The counterpart of addTo for the same object; a value that nothing is left under is forgotten. */
function removeFrom<T extends KubeObject>({ valuesOf, foundByValue }: Index<T>, key: string, object: Stored<T>): void {
  for (const value of valuesOf(object)) {
    const found = foundByValue.get(value);
    found?.delete(key, object);
    if (found?.size === 0) foundByValue.delete(value);
  }
}
