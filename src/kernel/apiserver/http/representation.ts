import type { Instant, JsonObject } from "#lib/base/index.ts";
import { apiVersionOf, badRequest } from "#kernel/model/index.ts";
import { writeYaml } from "#lib/yaml/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import { type IncludeObject, partialMetadata, renderTable, type Table, type TableMeta } from "../tables/render.ts";
import { metaText } from "../verbs/metadata.ts";
import { bytesOf, viewOf } from "../verbs/storage-view.ts";
import type { Form } from "./accept.ts";

// One object or list in the four forms. JSON is the stored bytes; the others are made on request.

/** How a caller wants to see objects: `now` is what ages in tables count from, `include` what table rows carry. */
export interface View {
  readonly resource: ServedResource;
  readonly form: Form;
  readonly include: IncludeObject;
  readonly now: Instant;
}

const encode = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** A parameter of tables; 400 for an unknown value. */
export function parseIncludeObject(text: string | null): IncludeObject {
  if (text === null || text === "" || text === "Metadata") return "Metadata";
  if (text === "Object" || text === "None") return text;
  throw badRequest(`includeObject must be None, Metadata or Object, found ${JSON.stringify(text)}`);
}

/** The body of an answer with one object. `object` and `bytes` are called only when the form needs them. */
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

/** A table of one row, for GET of an object and for watch events. */
export function tableOf({ resource, include, now }: View, object: JsonObject, withColumns: boolean): Table {
  const metadata = { resourceVersion: metaText(object, "resourceVersion") };
  return renderTable(resource, [object], { now, includeObject: include, metadata, withColumns });
}

/** An entry as a list's item (a table's row) or a watch's object. There JSON replaces YAML, which has no streams. */
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

export interface ListFrame {
  readonly head: Buffer;
  readonly tail: Buffer;
}

/** A list without its items, such as `{"kind":…,"items":[` and `]}`. A table's items are its `rows`. */
export function listFrame(view: View, metadata: TableMeta): ListFrame {
  const empty = JSON.stringify(emptyList(view, metadata));
  // The empty list of items comes last.
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
