import { isJsonObject, type JsonObject, numberAt, textAt } from "#lib/base/index.ts";
import { isAtLeast } from "#kernel/kit/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";
import { collections } from "../kinds.ts";
import { keyOf } from "../model/read.ts";
import type { Collection, ObjectOf, Prefs } from "../objects.ts";
import type { World } from "../world.ts";
import { builtIn, defaultPrefs } from "./built-in.ts";
import type { Kept, Records } from "./codec.ts";
import { type Entry, type Sent, Table } from "./table.ts";

export type StoredBundle = Stored<KubeObject & { readonly spec: JsonObject }>;
export const bundleName = (object: StoredBundle): string => textAt(object.spec, "meta", "Name") ?? "";
export const activeRev = (object: StoredBundle): number => numberAt(object.spec, "activeRev") ?? 0;

export interface Applied<C extends Collection = Collection> {
  readonly entry: Entry<C>;
  readonly before: Entry<C> | undefined;
}

/** All stored objects in memory, indexed by key: fed by watches, and by own writes at once. */
export class Mirror implements World {
  readonly #tables: { readonly [C in Collection]: Table<C> };
  readonly #bundles = new Map<string, StoredBundle>();
  readonly #nameByRevision = new Map<number, string>();
  #prefs: { readonly object: Kept; readonly values: Prefs } | undefined;

  constructor() {
    const bundleOf = (revision: number): string | undefined => this.#nameByRevision.get(revision);
    const table = <C extends Collection>(collection: C): Table<C> => {
      const own = new Map(builtIn(collection).map((object) => [keyOf(collection, object), object]));
      return new Table<C>(collection, own, bundleOf);
    };
    // The keys are all collections.
    this.#tables = Object.fromEntries(collections.map((name) => [name, table(name)])) as unknown as {
      readonly [C in Collection]: Table<C>;
    };
  }

  table<C extends Collection>(collection: C): Table<C> {
    return this.#tables[collection];
  }

  get<C extends Collection>(collection: C, key: string): ObjectOf[C] | undefined {
    return this.table(collection).get(key);
  }

  all<C extends Collection>(collection: C): readonly ObjectOf[C][] {
    return this.table(collection).all();
  }

  get prefs(): Prefs {
    return this.#prefs?.values ?? defaultPrefs;
  }

  get prefsObject(): Kept | undefined {
    return this.#prefs?.object;
  }

  get bundles(): ReadonlyMap<string, StoredBundle> {
    return this.#bundles;
  }

  /** Undefined if it is not newer than what is known. */
  put<C extends Collection>(collection: C, object: Kept, sent?: Sent<C>): Applied<C> | undefined {
    const applied = this.table(collection).put(object, sent);
    if (applied !== undefined && collection === "machines")
      this.#layRecords(applied.before?.records, applied.entry.records);
    return applied;
  }

  drop<C extends Collection>(collection: C, object: Kept, isConfirmed: boolean): Entry<C> | undefined {
    const dropped = this.table(collection).drop(object, isConfirmed);
    if (dropped !== undefined && collection === "machines") this.#layRecords(dropped.records, undefined);
    return dropped;
  }

  /** Returns false for what is not newer than what is known. */
  putPrefs(object: Kept): boolean {
    const known = this.#prefs?.object.metadata.resourceVersion;
    if (known !== undefined && isAtLeast(known, object.metadata.resourceVersion)) return false;
    const { values } = object.spec;
    const texts = Object.entries(isJsonObject(values) ? values : {}).flatMap(([name, value]) =>
      typeof value === "string" ? [[name, value] as const] : [],
    );
    this.#prefs = { object, values: { ...defaultPrefs, ...Object.fromEntries(texts) } };
    return true;
  }

  putBundle(object: StoredBundle): boolean {
    // Written, and never loaded.
    if (numberAt(object.spec, "activeRev") === undefined) return false;
    const known = [...this.#bundles.values()].find(({ metadata }) => metadata.uid === object.metadata.uid);
    if (known !== undefined && isAtLeast(known.metadata.resourceVersion, object.metadata.resourceVersion)) return false;
    const isSwitched = known === undefined || activeRev(known) !== activeRev(object);
    if (known !== undefined) this.#forget(known);
    this.#bundles.set(bundleName(object), object);
    this.#nameByRevision.set(activeRev(object), bundleName(object));
    if (isSwitched) this.#switched();
    return true;
  }

  /** Returns false if it is not known. */
  dropBundle(object: StoredBundle): boolean {
    const known = this.#bundles.get(bundleName(object));
    if (known?.metadata.uid !== object.metadata.uid) return false;
    this.#forget(known);
    this.#switched();
    return true;
  }

  isActive(revision: number): boolean {
    return this.#nameByRevision.has(revision);
  }

  #forget(object: StoredBundle): void {
    this.#bundles.delete(bundleName(object));
    this.#nameByRevision.delete(activeRev(object));
  }

  #switched(): void {
    for (const collection of collections) this.table(collection).switched();
  }

  #layRecords(before: Records | undefined, after: Records | undefined): void {
    const jobs = this.table("jobs");
    const now = [after?.previous, after?.current].filter((job) => job !== undefined);
    for (const job of [before?.current, before?.previous])
      if (job !== undefined && !now.some(({ Uuid }) => Uuid === job.Uuid)) jobs.lay(job.Uuid, undefined);
    for (const job of now) jobs.lay(job.Uuid, job);
  }
}
