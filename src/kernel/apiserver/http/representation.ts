import type { Instant, JsonObject } from "#lib/base/index.ts";
import { apiVersionOf, badRequest } from "#kernel/model/index.ts";
import { writeYaml } from "#lib/yaml/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import { type IncludeObject, partialMetadata, renderTable, type Table, type TableMeta } from "../tables/render.ts";
import { metaText } from "../verbs/metadata.ts";
import { bytesOf, viewOf } from "../verbs/storage-view.ts";
import type { Form } from "./accept.ts";

// One object or list in the four forms. The plain one is the stored bytes; the others are made anew, for people and for clients that ask
// for less.

/** How one caller wants to see objects. `now` is what ages in tables count from, `include` what a table's rows carry. */
export interface View {
  readonly resource: ServedResource;
  readonly form: Form;
  readonly include: IncludeObject;
  readonly now: Instant;
}

const encode = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** The parameter of tables: `Metadata` when it is absent; 400 for what is none of the three. */
export function parseIncludeObject(text: string | null): IncludeObject {
  if (text === null || text === "" || text === "Metadata") return "Metadata";
  if (text === "Object" || text === "None") return text;
  throw badRequest(`includeObject must be None, Metadata or Object, found ${JSON.stringify(text)}`);
}

/**
 * One object as the body of an answer. Both sources are asked for only as the form needs them: the stored bytes need no object, a table
 * no bytes.
 */
export function encodeObject(view: View, object: () => JsonObject, bytes: () => Buffer): Buffer {
  switch (view.form) {
    case "json":
      return bytes();
    case "yaml":
      return Buffer.from(writeYaml(object()));
    case "partial":
      return encode(partialMetadata(object()));
    case "table":
      return encode(tableOf(view, object(), true));
  }
}

/** A table of one row, as GET of one object and watch events have it. */
export function tableOf({ resource, include, now }: View, object: JsonObject, withColumns: boolean): Table {
  const metadata = { resourceVersion: metaText(object, "resourceVersion") };
  return renderTable(resource, [object], { now, includeObject: include, metadata, withColumns });
}

/** An entry in the form of a list's item (a row of a table) or a watch's object. YAML has no streams, so JSON stands in for it. */
export function encodeItem(view: View, entry: Entry): Buffer {
  switch (view.form) {
    case "json":
    case "yaml":
      return bytesOf(view.resource, entry);
    case "partial":
      return encode(partialMetadata(viewOf(view.resource, entry)));
    case "table":
      return encode(tableOf(view, viewOf(view.resource, entry), false).rows[0]);
  }
}

/** What stands around the items of a list. */
export interface ListFrame {
  readonly head: Buffer;
  readonly tail: Buffer;
}

/**
 * Everything of a list before its items, and the end after them: `{"kind":…,"items":[` and `]}`. The items go between them, with
 * commas. A table's items are its `rows`.
 */
export function listFrame(view: View, metadata: TableMeta): ListFrame {
  const empty = JSON.stringify(emptyList(view, metadata));
  // The list of items comes last, and it is empty.
  return { head: Buffer.from(empty.slice(0, -2)), tail: Buffer.from("]}\n") };
}

function emptyList({ resource, form, now }: View, metadata: TableMeta): object {
  switch (form) {
    case "table":
      return renderTable(resource, [], { now, metadata });
    case "partial":
      return { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1", metadata, items: [] };
    case "json":
    case "yaml":
      return { kind: resource.listKind, apiVersion: apiVersionOf(resource.type), metadata, items: [] };
  }
}
