import type { Instant, JsonObject } from "#lib/base/index.ts";
import { apiVersionOf, badRequest } from "#kernel/model/index.ts";
import { writeYaml } from "#lib/yaml/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import { type IncludeObject, partialMetadata, renderTable, type Table, type TableMeta } from "../tables/render.ts";
import { metaText } from "../verbs/metadata.ts";
import { bytesOf, viewOf } from "../verbs/storage-view.ts";
import type { Form } from "./accept.ts";

// JSON is the stored bytes; the other forms are made on request.

/** `now` is for ages in tables, `include` for table rows. */
export interface View {
  readonly resource: ServedResource;
  readonly form: Form;
  readonly include: IncludeObject;
  readonly now: Instant;
}

const encode = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

export function parseIncludeObject(text: string | null): IncludeObject {
  if (text === null || text === "" || text === "Metadata") return "Metadata";
  if (text === "Object" || text === "None") return text;
  throw badRequest(`includeObject must be None, Metadata or Object, found ${JSON.stringify(text)}`);
}

/** Calls `object` and `bytes` only for forms that need them. */
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

/** One row, for GET and watch events. */
export function tableOf({ resource, include, now }: View, object: JsonObject, withColumns: boolean): Table {
  const metadata = { resourceVersion: metaText(object, "resourceVersion") };
  return renderTable(resource, [object], { now, includeObject: include, metadata, withColumns });
}

/** A list's item, a table's row or a watch's object. There JSON replaces YAML, which has no streams. */
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

/** `{"kind":…,"items":[` and `]}`; a table has `rows`. */
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
