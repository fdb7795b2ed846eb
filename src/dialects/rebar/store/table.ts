import { jsonEquals, type JsonObject } from "#lib/base/index.ts";
import { isAtLeast } from "#kernel/kit/index.ts";
import type { Collection, ObjectOf } from "../objects.ts";
import {
  decode,
  keyIn,
  type Kept,
  noRecords,
  type Records,
  recordsIn,
  revisionOf,
  writable,
  writesOf,
} from "./codec.ts";

/** A stored object, read. */
export interface Entry<C extends Collection = Collection> {
  readonly key: string;
  readonly object: Kept;
  /** Of a bundle's object. */
  readonly revision: number | undefined;
  /** Undefined for what was created by others and waits for its completion. */
  readonly wire: ObjectOf[C] | undefined;
  /** Written by others: its effects are still to come. `wire` shows the state before. */
  readonly isEdited: boolean;
  /** Of machines. */
  readonly records: Records;
}

/** What was encoded as a spec. An object with this very spec need not be read. */
export interface Sent<C extends Collection> {
  readonly spec: JsonObject;
  readonly wire: ObjectOf[C];
  readonly records: Records;
}

/** `bundleOf` names the bundle of a revision, if that is in force. */
function entryOf<C extends Collection>(collection: C, object: Kept, bundle: string, sent?: Sent<C>): Entry<C> {
  const { status } = object;
  const before = status?.before;
  const isNew = writesOf(object) === undefined;
  const spec = before ?? object.spec;
  const known = sent?.spec === spec ? sent : undefined;
  const records = known?.records ?? (collection === "machines" ? recordsIn(spec) : noRecords);
  const decoded = isNew ? undefined : (known?.wire ?? decode(collection, spec, status, bundle));
  // Only the machine's record says which job is the current one.
  const wire = decoded !== undefined && collection === "jobs" ? { ...decoded, Current: false } : decoded;
  return {
    key: keyIn(collection, spec),
    object,
    revision: revisionOf(object),
    wire,
    isEdited: isNew || before !== undefined,
    records,
  };
}

/** Where no admission has marked a direct edit, the version before tells. */
function marked(object: Kept, known: Kept | undefined): Kept {
  if (known === undefined || object.status?.before !== undefined) return object;
  const writes = writesOf(object);
  if (writes === undefined || writes !== writesOf(known) || jsonEquals(object.spec, known.spec)) return object;
  return { ...object, status: { ...object.status, before: known.status?.before ?? known.spec } };
}

/** The objects of one collection, by name and by key. Bundles hide writable objects, and both hide built-in ones. */
export class Table<C extends Collection> {
  readonly #collection: C;
  readonly #bundleOf: (revision: number) => string | undefined;
  readonly #builtIn: ReadonlyMap<string, ObjectOf[C]>;
  readonly #byName = new Map<string, Entry<C>>();
  readonly #byKey = new Map<string, readonly Entry<C>[]>();
  readonly #overlay = new Map<string, ObjectOf[C]>();
  /** Deleted here; late events must not bring them back. */
  readonly #gone = new Set<string>();
  #keys: readonly string[] | undefined;
  #list: readonly ObjectOf[C][] | undefined;

  constructor(
    collection: C,
    builtIn: ReadonlyMap<string, ObjectOf[C]>,
    bundleOf: (revision: number) => string | undefined,
  ) {
    this.#collection = collection;
    this.#builtIn = builtIn;
    this.#bundleOf = bundleOf;
  }

  /** Undefined for what is not newer than what is known. */
  put(object: Kept, sent?: Sent<C>): { readonly entry: Entry<C>; readonly before: Entry<C> | undefined } | undefined {
    const { name, uid, resourceVersion } = object.metadata;
    const before = this.#byName.get(name);
    const known = before?.object.metadata;
    if (this.#gone.has(uid)) return undefined;
    if (known?.uid === uid && isAtLeast(known.resourceVersion, resourceVersion)) return undefined;
    const revision = revisionOf(object);
    const bundle = revision === undefined ? writable : (this.#bundleOf(revision) ?? writable);
    const seen = known?.uid === uid ? marked(object, before?.object) : object;
    const entry = entryOf(this.#collection, seen, bundle, sent);
    this.#replace(name, before, entry);
    return { entry, before };
  }

  /** `isConfirmed`: the server said so, and says nothing more about this object. */
  drop({ metadata: { name, uid } }: Kept, isConfirmed: boolean): Entry<C> | undefined {
    if (isConfirmed) this.#gone.delete(uid);
    else this.#gone.add(uid);
    const before = this.#byName.get(name);
    if (before?.object.metadata.uid !== uid) return undefined;
    this.#replace(name, before, undefined);
    return before;
  }

  /** The object in force, if it is stored. */
  entry(key: string): Entry<C> | undefined {
    let best: Entry<C> | undefined;
    for (const candidate of this.#byKey.get(key) ?? []) {
      if (candidate.revision !== undefined && this.#bundleOf(candidate.revision) === undefined) continue;
      if (candidate.wire !== undefined && (best === undefined || candidate.revision !== undefined)) best = candidate;
    }
    return best;
  }

  /** All stored objects, in force or not. */
  entries(): IterableIterator<Entry<C>> {
    return this.#byName.values();
  }

  named(name: string): Entry<C> | undefined {
    return this.#byName.get(name);
  }

  get(key: string): ObjectOf[C] | undefined {
    return this.#overlay.get(key) ?? this.entry(key)?.wire ?? this.#builtIn.get(key);
  }

  all(): readonly ObjectOf[C][] {
    this.#keys ??= [...new Set([...this.#builtIn.keys(), ...this.#byKey.keys(), ...this.#overlay.keys()])].toSorted();
    this.#list ??= this.#keys.flatMap((key) => this.get(key) ?? []);
    return this.#list;
  }

  /** Shows an object that another one contains instead of its own. */
  lay(key: string, object: ObjectOf[C] | undefined): void {
    const had = this.#overlay.has(key);
    if (object === undefined) this.#overlay.delete(key);
    else this.#overlay.set(key, object);
    this.#list = undefined;
    if (had !== (object !== undefined)) this.#keys = undefined;
  }

  /** Other revisions are in force: objects of bundles are read anew. */
  switched(): void {
    for (const [name, entry] of this.#byName) {
      if (entry.revision === undefined) continue;
      this.#replace(name, entry, entryOf(this.#collection, entry.object, this.#bundleOf(entry.revision) ?? writable));
    }
    this.#list = undefined;
  }

  #replace(name: string, before: Entry<C> | undefined, after: Entry<C> | undefined): void {
    this.#list = undefined;
    if (after === undefined) this.#byName.delete(name);
    else this.#byName.set(name, after);
    if (before?.key === after?.key) return this.#index(before?.key ?? "", before, after);
    if (before !== undefined) this.#index(before.key, before, undefined);
    if (after !== undefined) this.#index(after.key, undefined, after);
  }

  #index(key: string, without: Entry<C> | undefined, more: Entry<C> | undefined): void {
    const present = this.#byKey.get(key);
    const next = [...(present ?? []).filter((entry) => entry !== without), ...(more === undefined ? [] : [more])];
    if (next.length > 0) this.#byKey.set(key, next);
    else this.#byKey.delete(key);
    if ((present === undefined) !== (next.length === 0)) this.#keys = undefined;
  }
}
