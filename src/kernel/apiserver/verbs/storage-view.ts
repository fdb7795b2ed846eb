import type { JsonObject } from "#lib/base/index.ts";
import { deepFreeze } from "#lib/base/index.ts";
import type { ResourceRegistry, ServedResource } from "../kinds/served-resource.ts";
import type { Collection, Entry, StoreKey } from "../store/store.ts";

/** Where the objects of a served kind are stored. */
export const collectionOf = (resource: ServedResource): Collection =>
  resource.storage ?? { group: resource.type.group, resource: resource.type.plural };

/** Cluster-wide kinds ignore `namespace`, whatever a path says. */
export function keyFor(resource: ServedResource, namespace: string, name: string): StoreKey {
  const { group, resource: plural } = collectionOf(resource);
  return { group, resource: plural, namespace: resource.type.namespaced ? namespace : "", name };
}

export const namespaceKey = (name: string): StoreKey => ({ group: "", resource: "namespaces", namespace: "", name });

/** What a kind makes of a stored object; `undefined` when it serves it just as it is stored. */
interface View {
  readonly object: JsonObject | undefined;
}

// Views of current entries. An entry or a kind that nobody holds any more takes its views along: a kind is another one as soon as its
// definition has changed, and then it may see its objects differently.
const viewsByEntry = new WeakMap<Entry, WeakMap<ServedResource, View>>();

/** True without a look at the object: it was written by this very kind, and is stored in the form in which that serves it. */
const isServedAsStored = (resource: ServedResource, entry: Entry): boolean =>
  resource.storage === undefined && (resource.completeStored === undefined || entry.prunedBy === resource);

function decodedView(resource: ServedResource, entry: Entry): View {
  let views = viewsByEntry.get(entry);
  if (views === undefined) viewsByEntry.set(entry, (views = new WeakMap<ServedResource, View>()));
  let view = views.get(resource);
  if (view === undefined) {
    const stored = entry.object();
    const decoded = resource.storage?.decode(stored) ?? stored;
    const complete = resource.completeStored?.(decoded) ?? decoded;
    views.set(resource, (view = { object: complete === stored ? undefined : deepFreeze(complete) }));
  }
  return view;
}

/**
 * The object as this version of the kind serves it: frozen, resourceVersion included, with the defaults that its schema has now. Made once
 * for an entry and a kind.
 */
export const viewOf = (resource: ServedResource, entry: Entry): JsonObject =>
  isServedAsStored(resource, entry) ? entry.object() : (decodedView(resource, entry).object ?? entry.object());

/**
 * The view, when all of it was pruned by the very schema that serves it now. Being stored proves nothing: the object may be
 * older than its kind's schema, or may have been read from the disk.
 */
export const prunedBefore = (resource: ServedResource, entry: Entry): JsonObject | undefined =>
  entry.prunedBy === resource ? viewOf(resource, entry) : undefined;

/** The JSON of viewOf. Where the two do not differ this is the stored buffer, shared and never to be changed. */
export function bytesOf(resource: ServedResource, entry: Entry): Buffer {
  if (isServedAsStored(resource, entry)) return entry.bytes;
  const { object } = decodedView(resource, entry);
  return object === undefined ? entry.bytes : Buffer.from(JSON.stringify(object));
}

const servedCache = new WeakMap<
  ResourceRegistry,
  { readonly generation: number; readonly byCollection: Map<string, ServedResource> }
>();

/** The kind under which the objects of a collection are stored; undefined when it is not served at the moment. */
export function servedFor(registry: ResourceRegistry, { group, resource }: Collection): ServedResource | undefined {
  // Compared by generation: kinds come and go while watches run.
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
