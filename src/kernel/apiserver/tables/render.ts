import type { Instant, JsonObject } from "#lib/base/index.ts";
import type { Column, ServedResource } from "../kinds/served-resource.ts";

/** What a row carries besides its cells (`includeObject`). */
export type IncludeObject = "Metadata" | "Object" | "None";

export interface TableRow {
  readonly cells: readonly unknown[];
  readonly object?: JsonObject;
}

export interface TableMeta {
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** A `meta.k8s.io/v1 Table`; only the first event of a watch has columns. */
export interface Table {
  readonly kind: "Table";
  readonly apiVersion: "meta.k8s.io/v1";
  readonly metadata: TableMeta;
  readonly columnDefinitions: readonly JsonObject[] | null;
  readonly rows: readonly TableRow[];
}

export interface TableOptions {
  readonly now: Instant;
  readonly includeObject?: IncludeObject;
  readonly metadata?: TableMeta;
  readonly withColumns?: boolean;
}

export function renderTable(
  resource: Pick<ServedResource, "columns" | "row">,
  objects: Iterable<JsonObject>,
  options: TableOptions,
): Table {
  const { now, includeObject = "Metadata", metadata = {}, withColumns = true } = options;
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata,
    columnDefinitions: withColumns ? resource.columns.map(columnDefinition) : null,
    rows: Array.from(objects, (object) => renderRow(resource, object, now, includeObject)),
  };
}

function renderRow(
  resource: Pick<ServedResource, "row">,
  object: JsonObject,
  now: Instant,
  includeObject: IncludeObject,
): TableRow {
  const cells = resource.row(object, now);
  if (includeObject === "None") return { cells };
  return { cells, object: includeObject === "Object" ? object : partialMetadata(object) };
}

/** A `meta.k8s.io/v1 PartialObjectMetadata`. */
export const partialMetadata = (object: JsonObject): JsonObject => ({
  kind: "PartialObjectMetadata",
  apiVersion: "meta.k8s.io/v1",
  metadata: object["metadata"] ?? {},
});

/** All members are required on the wire. */
const columnDefinition = ({ name, type, format = "", description = "", priority }: Column): JsonObject => ({
  name,
  type,
  format,
  description,
  priority,
});
