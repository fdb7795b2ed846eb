import type { JsonObject } from "#lib/base/index.ts";
import { deepFreeze } from "#lib/base/index.ts";
import { type ResourceType, qualifiedResource } from "#kernel/model/index.ts";
import type { ResourceRegistry, ServedResource } from "../kinds/served-resource.ts";
import type { Collection, Entry, StoreKey } from "../store/store.ts";

/** Where the objects of a served kind are stored. */
export const collectionOf = (resource: ServedResource): Collection =>
  resource.storage ?? { group: resource.type.group, resource: resource.type.plural };

export function keyFor(resource: ServedResource, namespace: string, name: string): StoreKey {
  const { group, resource: plural } = collectionOf(resource);
  return { group, resource: plural, namespace: resource.type.namespaced ? namespace : "", name };
}

export const namespaceKey = (name: string): StoreKey => ({ group: "", resource: "namespaces", namespace: "", name });

// Decoded views of current entries. An entry that nobody holds any more takes its views along.
const decodedViews = new WeakMap<Entry, Map<string, JsonObject>>();

const viewName = (type: ResourceType): string => `${type.version}/${qualifiedResource(type)}`;

/** The object as this version of the kind serves it: frozen, resourceVersion included. */
export function viewOf(resource: ServedResource, entry: Entry): JsonObject {
  const { storage } = resource;
  if (storage === undefined) return entry.object();
  let views = decodedViews.get(entry);
  if (views === undefined) decodedViews.set(entry, (views = new Map<string, JsonObject>()));
  const name = viewName(resource.type);
  let view = views.get(name);
  if (view === undefined) views.set(name, (view = deepFreeze(storage.decode(entry.object()))));
  return view;
}

/** The JSON of viewOf; without a view of its own this is the stored buffer, shared and never to be changed. */
export const bytesOf = (resource: ServedResource, entry: Entry): Buffer =>
  resource.storage === undefined ? entry.bytes : Buffer.from(JSON.stringify(viewOf(resource, entry)));

const servedCache = new WeakMap<
  ResourceRegistry,
  { readonly generation: number; readonly byCollection: Map<string, ServedResource> }
>();

/** The kind under which the objects of a collection are stored; undefined when it is not served at the moment. */
export function servedFor(registry: ResourceRegistry, { group, resource }: Collection): ServedResource | undefined {
  let cached = servedCache.get(registry);
  if (cached?.generation !== registry.generation) {
    const byCollection = new Map<string, ServedResource>();
    for (const served of registry.all()) {
      const { group, resource: plural } = collectionOf(served);
      const name = `${group}/${plural}`;
      // Of several views the one that needs no conversion is the stored one.
      if (served.storage === undefined || !byCollection.has(name)) byCollection.set(name, served);
    }
    servedCache.set(registry, (cached = { generation: registry.generation, byCollection }));
  }
  return cached.byCollection.get(`${group}/${resource}`);
}
