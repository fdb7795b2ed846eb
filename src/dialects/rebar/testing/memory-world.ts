import type { JsonObject } from "#lib/base/index.ts";
import { type Collection, keyField, type ObjectOf, type Prefs } from "../objects.ts";
import type { World } from "../world.ts";
import { collections, keyOf, readObject } from "../model/read.ts";

/** Objects as clients write them, by collection. */
export type Sent = { readonly [C in Collection]?: readonly JsonObject[] };

const defaultPrefs: Prefs = {
  defaultWorkflow: "",
  defaultStage: "none",
  defaultBootEnv: "local",
  unknownBootEnv: "ignore",
  knownTokenTimeout: "3600",
  unknownTokenTimeout: "600",
};

const basic: Sent = {
  stages: [{ Name: "none" }, { Name: "local", BootEnv: "local" }],
  bootenvs: [{ Name: "local" }, { Name: "ignore", OnlyUnknown: true, OS: { Name: "ignore" } }],
};

/** A world in memory, with the objects that every server has. */
export class MemoryWorld implements World {
  readonly prefs: Prefs;
  private readonly objects = new Map<Collection, Map<string, ObjectOf[Collection]>>();

  constructor(sent: Sent = {}, prefs: Prefs = {}) {
    this.prefs = { ...defaultPrefs, ...prefs };
    for (const from of [basic, sent]) {
      for (const collection of collections) for (const one of from[collection] ?? []) this.send(collection, one);
    }
  }

  send<C extends Collection>(collection: C, sent: JsonObject): ObjectOf[C] {
    const read = readObject(collection, sent);
    if (!read.ok)
      throw new Error(`${collection} ${JSON.stringify(sent[keyField(collection)])}: ${read.error.Messages.join()}`);
    return this.put(collection, read.value);
  }

  put<C extends Collection>(collection: C, object: ObjectOf[C]): ObjectOf[C] {
    const byKey = this.objects.get(collection) ?? new Map<string, ObjectOf[Collection]>();
    this.objects.set(collection, byKey.set(keyOf(collection, object), object));
    return object;
  }

  remove(collection: Collection, key: string): void {
    this.objects.get(collection)?.delete(key);
  }

  get<C extends Collection>(collection: C, key: string): ObjectOf[C] | undefined {
    return this.objects.get(collection)?.get(key) as ObjectOf[C] | undefined;
  }

  all<C extends Collection>(collection: C): readonly ObjectOf[C][] {
    const byKey = this.objects.get(collection) ?? new Map<string, ObjectOf[Collection]>();
    return [...byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object as ObjectOf[C]);
  }
}
