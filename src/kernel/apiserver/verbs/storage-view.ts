import type { JsonObject } from "#lib/base/index.ts";
import { deepFreeze, getOrAdd } from "#lib/base/index.ts";
import type { ResourceRegistry, ServedResource } from "../kinds/served-resource.ts";
import type { Collection, Entry, StoreKey } from "../store/store.ts";

export const collectionOf = (resource: ServedResource): Collection =>
  resource.storage ?? { group: resource.type.group, resource: resource.type.plural };

/** Cluster-wide kinds ignore `namespace`. */
export function keyFor(resource: ServedResource, namespace: string, name: string): StoreKey {
  const { group, resource: plural } = collectionOf(resource);
  return { group, resource: plural, namespace: resource.type.namespaced ? namespace : "", name };
}

export const namespaceKey = (name: string): StoreKey => ({ group: "", resource: "namespaces", namespace: "", name });

interface View {
  readonly object: JsonObject | undefined;
}

// Views of current entries, dropped with the entry or kind. A changed definition makes a new kind.
const viewsByEntry = new WeakMap<Entry, WeakMap<ServedResource, View>>();

/** Written by this very kind, and stored in the form it serves. */
const isServedAsStored = (resource: ServedResource, entry: Entry): boolean =>
  resource.storage === undefined && (resource.completeStored === undefined || entry.prunedBy === resource);

function decodedView(resource: ServedResource, entry: Entry): View {
  const views = getOrAdd(viewsByEntry, entry, () => new WeakMap<ServedResource, View>());
  let view = views.get(resource);
  if (view === undefined) {
    const stored = entry.object();
    const decoded = resource.storage?.decode(stored) ?? stored;
    const complete = resource.completeStored?.(decoded) ?? decoded;
    views.set(resource, (view = { object: complete === stored ? undefined : deepFreeze(complete) }));
  }
  return view;
}

/** As this version serves it: frozen, with resourceVersion and current defaults. Cached by entry and kind. */
export const viewOf = (resource: ServedResource, entry: Entry): JsonObject =>
  isServedAsStored(resource, entry) ? entry.object() : (decodedView(resource, entry).object ?? entry.object());

/** The view, if the current schema has pruned it. A stored object may be older than its kind's schema. */
export const prunedBefore = (resource: ServedResource, entry: Entry): JsonObject | undefined =>
  entry.prunedBy === resource ? viewOf(resource, entry) : undefined;

/** The JSON of viewOf; the stored buffer where they are equal, not to be changed. */
export function bytesOf(resource: ServedResource, entry: Entry): Buffer {
  if (isServedAsStored(resource, entry)) return entry.bytes;
  const { object } = decodedView(resource, entry);
  return object === undefined ? entry.bytes : Buffer.from(JSON.stringify(object));
}

const servedCache = new WeakMap<
  ResourceRegistry,
  { readonly generation: number; readonly byCollection: Map<string, ServedResource> }
>();

/** The kind under which a collection's objects are stored, if it is served. */
export function servedFor(registry: ResourceRegistry, { group, resource }: Collection): ServedResource | undefined {
  // Kinds come and go while watches run.
  let cached = servedCache.get(registry);
  if (cached?.generation !== registry.generation) {
    const byCollection = new Map<string, ServedResource>();
    for (const served of registry.all()) {
      const { group, resource: plural } = collectionOf(served);
      const name = `${group}/${plural}`;
      // The view that needs no conversion is the stored one.
      if (served.storage === undefined || !byCollection.has(name)) byCollection.set(name, served);
    }
    servedCache.set(registry, (cached = { generation: registry.generation, byCollection }));
  }
  return cached.byCollection.get(`${group}/${resource}`);
}
