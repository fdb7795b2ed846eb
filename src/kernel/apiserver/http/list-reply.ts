import { writeYaml } from "#lib/yaml/index.ts";
import type { Entry } from "../store/store.ts";
import type { TableMeta } from "../tables/render.ts";
import type { Listing } from "../verbs/list.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { type Answer, answerBytes } from "../verbs/answer.ts";
import { viewOf } from "../verbs/storage-view.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import type { Negotiated } from "./accept.ts";
import { type LargeBodies, largeBodyBytes } from "./large-bodies.ts";
import { encodeItem, type ListFrame, listFrame, type View } from "./representation.ts";
import type { Part, Reply } from "./respond.ts";

// Limits one turn of the event loop: encrypting a part takes half a millisecond, table rows more.
const partBytes = 64 * 1024;
const partItems = 100;
/** Cost of an item relative to stored bytes. */
const costs: Readonly<Record<View["form"], number>> = { json: 1, partial: 2, table: 2, yaml: 8 };

/** Yields between two parts (`piece`) and before a large object is encoded (`turn`). */
export type Turns = Pick<LargeBodies, "turn" | "piece">;

const comma = Buffer.from(",");

/** Short lists are a single buffer, longer ones come in parts: neither size nor a slow reader delays others. */
export function listReply(view: View, listing: Listing, negotiated: Negotiated, turns: Turns): Reply {
  const metadata = listMetadata(listing);
  const { contentType } = negotiated;
  const { warnings } = view.resource;
  const { entries } = listing;
  const frame = view.form === "yaml" ? yamlFrame(view, metadata, entries.length === 0) : listFrame(view, metadata);
  const stored = entries.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const cost = costs[view.form];
  if (entries.length <= partItems && stored * cost <= partBytes) {
    const items = entries.flatMap((entry, index) => itemOf(view, entry, index));
    return { code: 200, contentType, warnings, body: Buffer.concat([frame.head, ...items, frame.tail]) };
  }
  const isDear = ({ bytes }: Entry) => view.form !== "json" && bytes.length > largeBodyBytes;
  const parts = partsOf(entries, frame, turns, {
    encode: (entry, index) => itemOf(view, entry, index),
    weigh: ({ bytes }) => bytes.length * cost,
    before: (entry) => (isDear(entry) ? turns.turn("patient") : undefined),
  });
  const isStored = view.form === "json" && view.resource.storage === undefined;
  const length = frame.head.length + stored + entries.length - 1 + frame.tail.length;
  return { code: 200, contentType, warnings, body: isStored ? { parts, length } : { parts } };
}

/** Includes the preceding comma. */
function itemOf(view: View, entry: Entry, index: number): readonly Buffer[] {
  if (view.form === "yaml") return [Buffer.from(writeYaml([viewOf(view.resource, entry)]))];
  return index > 0 ? [comma, encodeItem(view, entry)] : [encodeItem(view, entry)];
}

/** Deleted objects, always as JSON. */
export function deletionsReply(
  resource: ServedResource,
  answers: readonly Answer[],
  metadata: { readonly resourceVersion: string; readonly continue?: string },
  turns: Turns,
): Reply {
  const empty = JSON.stringify({
    kind: resource.listKind,
    apiVersion: apiVersionOf(resource.type),
    metadata,
    items: [],
  });
  const frame = { head: Buffer.from(empty.slice(0, -2)), tail: Buffer.from("]}\n") };
  const parts = partsOf(answers, frame, turns, {
    encode: (answer, index) => (index > 0 ? [comma, answerBytes(answer)] : [answerBytes(answer)]),
    weigh: (answer) => answer.entry?.bytes.length ?? 0,
  });
  return { code: 200, contentType: "application/json", body: { parts } };
}

interface ItemMaker<T> {
  readonly encode: (item: T, index: number) => readonly Buffer[];
  /** In copied bytes. */
  readonly weigh: (item: T) => number;
  /** Awaited before the item is encoded. */
  readonly before?: (item: T) => Promise<void> | undefined;
}

/** Yields before each part but the first. */
async function* partsOf<T>(
  list: readonly T[],
  frame: ListFrame,
  turns: Turns,
  { encode, weigh, before }: ItemMaker<T>,
): AsyncGenerator<Part, void> {
  let open: Buffer[] = [frame.head];
  let [bytes, items] = [0, 0];
  for (const [index, item] of list.entries()) {
    if (bytes >= partBytes || items >= partItems) {
      yield open;
      await turns.piece();
      open = [];
      [bytes, items] = [0, 0];
    }
    const waiting = before?.(item);
    if (waiting !== undefined) await waiting;
    open.push(...encode(item, index));
    bytes += weigh(item);
    items++;
  }
  yield [...open, frame.tail];
}

export function listMetadata(listing: Listing): TableMeta & { readonly resourceVersion: string } {
  return {
    resourceVersion: String(listing.revision),
    ...(listing.continue === undefined ? {} : { continue: listing.continue }),
    ...(listing.remaining === undefined ? {} : { remainingItemCount: listing.remaining }),
  };
}

/** The keys before and after the items, in `writeYaml`'s order. */
function yamlFrame({ resource: { type, listKind } }: View, metadata: TableMeta, isEmpty: boolean): ListFrame {
  const head = writeYaml({ apiVersion: apiVersionOf(type) });
  const tail = writeYaml({ kind: listKind, metadata: { ...metadata } });
  return { head: Buffer.from(`${head}items:${isEmpty ? " []" : ""}\n`), tail: Buffer.from(tail) };
}
