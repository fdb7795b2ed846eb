import { writeYaml } from "#lib/yaml/index.ts";
import type { Entry } from "../store/store.ts";
import type { TableMeta } from "../tables/render.ts";
import type { Listing } from "../verbs/list.ts";
import { viewOf } from "../verbs/storage-view.ts";
import type { Negotiated } from "./accept.ts";
import { encodeItem, listFrame, type View } from "./representation.ts";
import type { Reply } from "./respond.ts";

// Parts are about as large as a TLS record is worth, and are made with pauses, so that a long list holds up nobody.
const partBytes = 256 * 1024;
const itemsPerTurn = 500;
const comma = Buffer.from(",");

/** A list as the parts of a reply. Stored bytes are joined, not encoded anew. */
export async function listReply(view: View, listing: Listing, negotiated: Negotiated): Promise<Reply> {
  const metadata = listMetadata(listing);
  const { contentType } = negotiated;
  const { warnings } = view.resource;
  if (view.form === "yaml") return { code: 200, contentType, warnings, body: yamlList(view, listing, metadata) };
  const { head, tail } = listFrame(view, metadata);
  const parts: Buffer[] = [];
  let open: Buffer[] = [head];
  let size = head.length;
  for (const [index, entry] of listing.entries.entries()) {
    if (index > 0) open.push(comma);
    const item = encodeItem(view, entry);
    open.push(item);
    size += item.length + 1;
    if (size >= partBytes) {
      parts.push(Buffer.concat(open));
      open = [];
      size = 0;
    }
    if (index % itemsPerTurn === itemsPerTurn - 1) await new Promise((resolve) => setImmediate(resolve));
  }
  parts.push(Buffer.concat([...open, tail]));
  return { code: 200, contentType, warnings, body: parts };
}

export function listMetadata(listing: Listing): TableMeta & { readonly resourceVersion: string } {
  return {
    resourceVersion: String(listing.revision),
    ...(listing.continue === undefined ? {} : { continue: listing.continue }),
    ...(listing.remaining === undefined ? {} : { remainingItemCount: listing.remaining }),
  };
}

function yamlList(view: View, { entries }: Listing, metadata: TableMeta): Buffer {
  const { type, listKind } = view.resource;
  const apiVersion = type.group === "" ? type.version : `${type.group}/${type.version}`;
  const items = entries.map((entry: Entry) => viewOf(view.resource, entry));
  return Buffer.from(writeYaml({ kind: listKind, apiVersion, metadata: { ...metadata }, items }));
}
