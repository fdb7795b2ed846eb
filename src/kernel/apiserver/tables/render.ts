import type { Instant, JsonObject } from "#lib/base/index.ts";
import type { Column, ServedResource } from "../kinds/served-resource.ts";

/** What a row carries besides its cells, by the query parameter `includeObject`: the metadata, the whole object, or nothing. */
export type IncludeObject = "Metadata" | "Object" | "None";

/** One object. `cells` are as many as there are columns, and plain JSON. */
export interface TableRow {
  readonly cells: readonly unknown[];
  readonly object?: JsonObject;
}

/** `metadata` of a table: that of the list it stands for, or of nothing for an event of a watch. Absent members stay absent. */
export interface TableMeta {
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** A `meta.k8s.io/v1 Table`. Later events of a watch repeat no column definitions. */
export interface Table {
  readonly kind: "Table";
  readonly apiVersion: "meta.k8s.io/v1";
  readonly metadata: TableMeta;
  readonly columnDefinitions: readonly JsonObject[] | null;
  readonly rows: readonly TableRow[];
}

/** What a request says of its table. */
export interface TableOptions {
  /** For ages. */
  readonly now: Instant;
  readonly includeObject?: IncludeObject;
  readonly metadata?: TableMeta;
  /** False for all but the first event of a watch. */
  readonly withColumns?: boolean;
}

/** Renders objects of one kind as a table: one row per object, in their order. Linear in their number; objects are shared, not copied. */
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

/** The object of a row stands beside its cells, for clients that filter, sort or link by it. */
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

/**
 * The object as a `meta.k8s.io/v1 PartialObjectMetadata`: what it is called and labelled, not what it says. Its own kind and apiVersion
 * are not in it: the request tells them.
 */
export const partialMetadata = (object: JsonObject): JsonObject => ({
  kind: "PartialObjectMetadata",
  apiVersion: "meta.k8s.io/v1",
  metadata: object["metadata"] ?? {},
});

/** Every member of a column definition is mandatory on the wire. */
const columnDefinition = ({ name, type, format = "", description = "", priority }: Column): JsonObject => ({
  name,
  type,
  format,
  description,
  priority,
});
