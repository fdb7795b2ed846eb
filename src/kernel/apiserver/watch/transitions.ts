import { deepFreeze } from "#lib/base/index.ts";
import type { Entry, StoreEvent } from "../store/store.ts";
import { withMetadata } from "../verbs/metadata.ts";
import type { Selector } from "../verbs/selector.ts";

export interface WatchChange {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly entry: Entry;
}

export function changesOf(events: readonly StoreEvent[], selector: Selector): readonly WatchChange[] {
  const changes: WatchChange[] = [];
  for (const event of events) {
    const change = changeOf(event, selector);
    if (change !== undefined) changes.push(change);
  }
  return changes;
}

/**
 * before \ after | matches  | does not
 * matched        | MODIFIED | DELETED, with the object as it was
 * did not, or new| ADDED    | nothing
 */
function changeOf({ type, entry, previous, revision }: StoreEvent, selector: Selector): WatchChange | undefined {
  const did = previous !== undefined && selector.matches(previous);
  // The final state may no longer match; what counts is whether the watcher knows the object.
  if (type === "delete") return did ? { type: "DELETED", entry } : undefined;
  if (selector.matches(entry)) return { type: did ? "MODIFIED" : "ADDED", entry };
  // The last matching state, under the revision of the change.
  return did ? { type: "DELETED", entry: restamped(previous, revision) } : undefined;
}

function restamped(entry: Entry, revision: number): Entry {
  const { key, uid, createRevision, labels, owners, created, terminating } = entry;
  const restored = deepFreeze(withMetadata(entry.object(), { resourceVersion: String(revision) }));
  const bytes = Buffer.from(JSON.stringify(restored));
  const known = { key, uid, createRevision, labels, owners, created, terminating };
  return { ...known, revision, bytes, prunedBy: undefined, object: () => restored };
}
