import type { StoredEntry } from "./entry.ts";
import { type CollectionImage, idOf } from "./image.ts";
import { lowerBound } from "./sorted-ids.ts";
import type { Page, PageRequest } from "./store.ts";

/** States at an earlier revision that differ from the current ones, by id; undefined where there was no object. */
type Undone = ReadonlyMap<string, StoredEntry | undefined>;

// Names contain no character below this one, so it bounds a namespace's ids from above.
const afterSeparator = "\u0001";

/** One page of a collection. An earlier revision is rebuilt by undoing later events: O(later events + page). */
export function readPage(image: CollectionImage, request: PageRequest, current: number): Page {
  const revision = request.revision ?? current;
  const undone = undoTo(image, revision, current);
  const range = idRange(image.published.sorted(), request);
  const wanted = inRange(undone, range);
  const ids = merged(range, wanted.restored, wanted.absent);
  const limit = request.limit === undefined || request.limit <= 0 ? Number.POSITIVE_INFINITY : request.limit;

  const entries: StoredEntry[] = [];
  for (const id of ids) {
    if (entries.length >= limit) break;
    const entry = undone.has(id) ? undone.get(id) : image.slots.get(id)?.published;
    if (entry === undefined) continue;
    entries.push(entry);
  }
  const total = range.end - range.start + wanted.restored.length - wanted.absent.size;
  const remaining = total - entries.length;
  const tail = entries.at(-1)?.key;
  if (remaining === 0 || tail === undefined) return { entries, revision, remaining };
  return { entries, revision, remaining, next: { namespace: tail.namespace, name: tail.name } };
}

/** `low` and `high` bound the ids; `start` and `end` are positions in `sorted`. */
interface Range {
  readonly sorted: readonly string[];
  readonly start: number;
  readonly end: number;
  readonly low: string;
  readonly high: string | undefined;
}

/** The ids of a request's namespace after its `after`. */
function idRange(sorted: readonly string[], request: PageRequest): Range {
  const { namespace, after } = request;
  const floor = namespace === undefined ? "" : idOf(namespace, "");
  const high = namespace === undefined ? undefined : `${namespace}${afterSeparator}`;
  // The first text after the id itself.
  const follow = after === undefined ? "" : `${idOf(after.namespace, after.name)}\0`;
  const low = follow > floor ? follow : floor;
  const end = high === undefined ? sorted.length : lowerBound(sorted, high);
  return { sorted, start: Math.min(lowerBound(sorted, low), end), end, low, high };
}

export function countNamespace(image: CollectionImage, namespace: string): number {
  const range = idRange(image.published.sorted(), { namespace });
  return range.end - range.start;
}

function undoTo(image: CollectionImage, revision: number, current: number): Undone {
  const undone = new Map<string, StoredEntry | undefined>();
  if (revision >= current) return undone;
  for (const event of image.ring.after(revision)) {
    const id = idOf(event.entry.key.namespace, event.entry.key.name);
    if (!undone.has(id)) undone.set(id, event.previous);
  }
  return undone;
}

/** What undoing changes in a range: ids to add back, in order, and current ids that did not exist yet. */
function inRange(undone: Undone, range: Range): { readonly restored: string[]; readonly absent: ReadonlySet<string> } {
  const restored: string[] = [];
  const absent = new Set<string>();
  for (const [id, entry] of undone) {
    if (id < range.low || (range.high !== undefined && id >= range.high)) continue;
    const isCurrent = range.sorted[lowerBound(range.sorted, id)] === id;
    if (entry === undefined && isCurrent) absent.add(id);
    else if (entry !== undefined && !isCurrent) restored.push(id);
  }
  return { restored: restored.sort(), absent };
}

function* merged(range: Range, restored: readonly string[], absent: ReadonlySet<string>): Generator<string> {
  let next = 0;
  for (let index = range.start; index < range.end; index++) {
    const id = range.sorted[index] ?? "";
    for (let back = restored[next]; back !== undefined && back < id; back = restored[++next]) yield back;
    if (!absent.has(id)) yield id;
  }
  yield* restored.slice(next);
}
