import { isJsonObject, type JsonValue, listAt, objectsAt, textAt, toError } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { collectionPath, isNotFound, type ResourceType } from "#kernel/model/index.ts";

/** With names, the selector is ignored. */
export interface TableRequest {
  readonly client: ApiClient;
  readonly type: ResourceType;
  /** When absent, all namespaces, with a first column for namespaced kinds. */
  readonly namespace: string | undefined;
  readonly names: readonly string[];
  readonly selector: string | undefined;
}

/** The server's cells as text. A watch continues at `revision`. */
export interface ServerTable {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly revision: string;
  /** The server's errors for names that do not exist. */
  readonly missing: readonly unknown[];
}

/** The options of a list or a watch, of at most one name. */
export const selectionOf = ({ namespace, names, selector }: TableRequest) => ({
  ...(namespace === undefined ? {} : { namespace }),
  ...(selector === undefined ? {} : { labelSelector: selector }),
  ...(names.length === 0 ? {} : { fieldSelector: `metadata.name=${names[0]}` }),
});

const accept = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";

/** The server's own table of a kind, with one request for a list or for each name, in the order of names. */
export async function readTable(request: TableRequest, wide: boolean): Promise<ServerTable> {
  const { names } = request;
  if (names.length === 0) return await fetchTable(request, undefined, wide);
  const { found: tables, missing } = await findEach(names, (name) => fetchTable(request, name, wide));
  const header = tables[0]?.header ?? [];
  return { header, rows: tables.flatMap(({ rows }) => rows), revision: tables[0]?.revision ?? "", missing };
}

/** Looks up each name; rejects for every error except a missing object. */
export async function findEach<T>(
  names: readonly string[],
  look: (name: string) => Promise<T>,
): Promise<{ readonly found: readonly T[]; readonly missing: readonly unknown[] }> {
  const answers = await Promise.allSettled(names.map(look));
  const reasons = answers.flatMap((answer): unknown[] => (answer.status === "rejected" ? [answer.reason] : []));
  const other = reasons.find((reason) => !isNotFound(reason));
  if (other !== undefined) throw toError(other);
  return {
    found: answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : [])),
    missing: reasons,
  };
}

async function fetchTable(
  { client, type, namespace, selector }: TableRequest,
  name: string | undefined,
  wide: boolean,
): Promise<ServerTable> {
  const place = `${collectionPath(type, namespace)}${name === undefined ? "" : `/${encodeURIComponent(name)}`}`;
  const query = selector === undefined ? "" : `?labelSelector=${encodeURIComponent(selector)}`;
  const showsNamespace = namespace === undefined && type.namespaced;
  return toTable(JSON.parse(await client.raw(`${place}${query}`, { accept })) as JsonValue, wide, showsNamespace);
}

/** Reads a `meta.k8s.io/v1 Table`; columns with a priority above 0 are for `wide` only. */
function toTable(body: JsonValue, wide: boolean, showsNamespace: boolean): ServerTable {
  if (!isJsonObject(body) || body["kind"] !== "Table")
    throw new Error(`the server answered with ${JSON.stringify(body).slice(0, 80)}, expected a Table`);
  const columns = objectsAt(body, "columnDefinitions");
  const shown = columns.flatMap((column, index) =>
    wide || column["priority"] === 0 || column["priority"] === undefined ? [index] : [],
  );
  const header = shown.map((index) => (textAt(columns[index], "name") ?? "").toUpperCase());
  const rows = objectsAt(body, "rows").map((row) => {
    const cells = listAt(row, "cells");
    const texts = shown.map((index) => cellText(cells[index]));
    return showsNamespace ? [textAt(row, "object", "metadata", "namespace") ?? "", ...texts] : texts;
  });
  const revision = textAt(body, "metadata", "resourceVersion") ?? "";
  return { header: showsNamespace ? ["NAMESPACE", ...header] : header, rows, revision, missing: [] };
}

function cellText(cell: JsonValue | undefined): string {
  if (cell === null || cell === undefined) return "<none>";
  return typeof cell === "string" ? cell : JSON.stringify(cell);
}

/**
 * A row for every change after the table; a deleted object shows its last row. Each change costs one request for its
 * row, which may be newer than the change.
 */
export async function* watchTable(
  request: TableRequest,
  table: ServerTable,
  signal: AbortSignal,
): AsyncIterable<readonly string[]> {
  const { client, type, namespace } = request;
  const last = new Map<string, readonly string[]>();
  const options = { ...selectionOf(request), resourceVersion: table.revision, signal };
  for await (const event of client.watch(type, options)) {
    if (event.type === "BOOKMARK") continue;
    const { name, namespace: place } = event.object.metadata;
    const key = `${place ?? ""}/${name}`;
    const row =
      event.type === "DELETED"
        ? last.get(key)
        : await rowOf({ ...request, namespace: place, selector: undefined }, name, namespace === undefined);
    if (row === undefined) continue;
    last.set(key, row);
    yield row;
  }
}

/** Undefined if the object has been deleted. */
async function rowOf(
  request: TableRequest,
  name: string,
  showsNamespace: boolean,
): Promise<readonly string[] | undefined> {
  try {
    const { rows } = await fetchTable(request, name, false);
    const row = rows[0];
    return row === undefined || !showsNamespace || !request.type.namespaced ? row : [request.namespace ?? "", ...row];
  } catch (thrown) {
    if (isNotFound(thrown)) return undefined;
    throw thrown;
  }
}
