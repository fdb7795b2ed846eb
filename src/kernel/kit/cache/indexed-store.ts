import { getOrAdd } from "#lib/base/index.ts";
import { type KubeObject, keyOf, type Stored } from "#kernel/model/index.ts";
import { SortedList } from "./sorted-list.ts";

/** The values under which an index finds an object. Pure. */
export type IndexFunction<T extends KubeObject = KubeObject> = (object: Stored<T>) => readonly string[];
export type Indexers<T extends KubeObject = KubeObject> = Readonly<Record<string, IndexFunction<T>>>;

/** The order of an index, by immutable fields: two versions of one object are equal, two objects never are. */
export type IndexOrder<T extends KubeObject = KubeObject> = (a: Stored<T>, b: Stored<T>) => number;

interface Found<T extends KubeObject> {
  readonly size: number;
  add(key: string, object: Stored<T>): unknown;
  replace(key: string, object: Stored<T>): unknown;
  delete(key: string, object: Stored<T>): unknown;
  keys(): Iterable<string>;
}

interface Index<T extends KubeObject> {
  readonly valuesOf: IndexFunction<T>;
  readonly newFound: () => Found<T>;
  readonly foundByValue: Map<string, Found<T>>;
}

/** Objects by key with any number of indexes, O(1) per index value. Index functions must be pure. */
export class IndexedStore<T extends KubeObject = KubeObject> {
  readonly #objects = new Map<string, Stored<T>>();
  readonly #indexes = new Map<string, Index<T>>();

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): Stored<T> | undefined {
    return this.#objects.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  /** In the order of insertion. Must not be held over a change. */
  entries(): IterableIterator<[string, Stored<T>]> {
    return this.#objects.entries();
  }

  /** Adds an index, with an optional order (O(log n) per change). One of the same name must be the same function. */
  addIndex(name: string, valuesOf: IndexFunction<T>, order?: IndexOrder<T>): void {
    const present = this.#indexes.get(name);
    if (present?.valuesOf === valuesOf) return;
    if (present !== undefined) throw new Error(`the index "${name}" exists already with another function`);
    const newFound = (): Found<T> => (order === undefined ? new Keys() : new InOrder<T>(order));
    const index: Index<T> = { valuesOf, newFound, foundByValue: new Map() };
    for (const [key, object] of this.#objects) addTo(index, key, object);
    this.#indexes.set(name, index);
  }

  /** Throws for an unknown index. */
  indexFunction(name: string): IndexFunction<T> {
    return this.#index(name).valuesOf;
  }

  /** Keys under a value, in the order of the index. Must not be held over a change. */
  keysByIndex(name: string, value: string): Iterable<string> {
    return this.#index(name).foundByValue.get(value)?.keys() ?? nothing;
  }

  /** Stores an object and returns the one it replaces. */
  set(key: string, object: Stored<T>): Stored<T> | undefined {
    const previous = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const index of this.#indexes.values())
      if (previous === undefined) addTo(index, key, object);
      else move(index, key, previous, object);
    return previous;
  }

  /** Removes an object and returns it. */
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

const nothing: readonly string[] = [];

class Keys extends Set<string> {
  replace(): void {}
}

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
    const found = getOrAdd(foundByValue, value, () => newFound());
    found.add(key, object);
  }
}

/** Most changes do not affect what an object is found by. */
function move<T extends KubeObject>(index: Index<T>, key: string, previous: Stored<T>, object: Stored<T>): void {
  const [before, after] = [index.valuesOf(previous), index.valuesOf(object)];
  if (before.length === after.length && before.every((value, at) => value === after[at])) {
    for (const value of after) index.foundByValue.get(value)?.replace(key, object);
    return;
  }
  removeFrom(index, key, previous);
  addTo(index, key, object);
}

function removeFrom<T extends KubeObject>({ valuesOf, foundByValue }: Index<T>, key: string, object: Stored<T>): void {
  for (const value of valuesOf(object)) {
    const found = foundByValue.get(value);
    found?.delete(key, object);
    if (found?.size === 0) foundByValue.delete(value);
  }
}
