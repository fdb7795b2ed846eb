import type { JsonObject } from "#lib/base/index.ts";
import type { Entry, Store } from "./store.ts";

const first: readonly string[] = ["namespaces", "customresourcedefinitions"];

const rankOf = ({ group, resource }: { readonly group: string; readonly resource: string }): number => {
  const isFoundation = group === "" || group === "apiextensions.k8s.io";
  const rank = isFoundation ? first.indexOf(resource) : -1;
  return rank < 0 ? first.length : rank;
};

/** In the order of creation: namespaces, definitions, then owners before their dependants. */
export function exportObjects(store: Store): readonly JsonObject[] {
  const collections = [...store.collections()].sort(
    (a, b) => rankOf(a) - rankOf(b) || compare(a.group, b.group) || compare(a.resource, b.resource),
  );
  const ordered = new Set<Entry>();
  for (const collection of collections) {
    for (const entry of store.page(collection, {}).entries) addWithOwners(entry, store, ordered);
  }
  return Array.from(ordered, (entry) => entry.object());
}

/** Iterative: chains of owners may be longer than the call stack. Cycles keep the order found. */
function addWithOwners(entry: Entry, store: Store, ordered: Set<Entry>): void {
  const waiting = [entry];
  const visited = new Set<Entry>();
  for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
    const owners = visited.has(next) ? [] : missingOwners(next, store, ordered, visited);
    visited.add(next);
    if (owners.length > 0) waiting.push(...owners);
    else ordered.add(waiting.pop() ?? next);
  }
}

/** Owners on the stack are left out, or a cycle would never end. */
function missingOwners(
  entry: Entry,
  store: Store,
  ordered: ReadonlySet<Entry>,
  visited: ReadonlySet<Entry>,
): readonly Entry[] {
  const missing: Entry[] = [];
  for (const uid of entry.owners) {
    const owner = store.byUid(uid);
    if (owner !== undefined && !ordered.has(owner) && !visited.has(owner)) missing.push(owner);
  }
  return missing;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
