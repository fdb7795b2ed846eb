import { isJsonObject, type JsonValue, toError } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { collectionPath, isNotFound, type ResourceType } from "#kernel/model/index.ts";

/**
 * What a table is asked about. With names the selector does not count, as in kubectl, which refuses the two together.
 */
export interface TableRequest {
  readonly client: ApiClient;
  readonly type: ResourceType;
  /** Absent: all namespaces, told in a first column; also for kinds that have none, where no column is added. */
  readonly namespace: string | undefined;
  readonly names: readonly string[];
  readonly selector: string | undefined;
}

/**
 * Cells as text, in the server's words; header names are in capitals. `revision` is where a watch goes on without
 * missing a change; empty when the server told none.
 */
export interface ServerTable {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly revision: string;
  /** Why those that were named are not among the rows: refusals of the server. */
  readonly missing: readonly unknown[];
}

const accept = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";

/**
 * The server's own table of a kind: its columns, those for `wide` included when asked. One request for a list, one
 * per name for names, in the order of the names. Names that do not exist are `missing`; everything else rejects.
 */
export async function readTable(request: TableRequest, wide: boolean): Promise<ServerTable> {
  const { names } = request;
  if (names.length === 0) return await fetchTable(request, undefined, wide);
  const { found: tables, missing } = await findEach(names, (name) => fetchTable(request, name, wide));
  const header = tables[0]?.header ?? [];
  return { header, rows: tables.flatMap(({ rows }) => rows), revision: tables[0]?.revision ?? "", missing };
}

/** Looks for each name by itself: what is there, and the refusals for what is not. Rejects for every other reason. */
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

/**
 * A `meta.k8s.io/v1 Table`: `columnDefinitions[].priority` above 0 marks what only `wide` shows, `rows[].cells` stand
 * in the order of the columns, `rows[].object` holds the metadata. Anything else is a server that does not know
 * Tables: a bug.
 */
function toTable(body: JsonValue, wide: boolean, showsNamespace: boolean): ServerTable {
  if (!isJsonObject(body) || body["kind"] !== "Table")
    throw new Error(`the server answered with ${JSON.stringify(body).slice(0, 80)}, expected a Table`);
  const columns = listOf(body["columnDefinitions"]);
  const shown = columns.flatMap((column, index) =>
    wide || column["priority"] === 0 || column["priority"] === undefined ? [index] : [],
  );
  const header = shown.map((index) => textOf(columns[index]?.["name"]).toUpperCase());
  const rows = listOf(body["rows"]).map((row) => {
    const cells = Array.isArray(row["cells"]) ? (row["cells"] as readonly JsonValue[]) : [];
    const texts = shown.map((index) => cellText(cells[index]));
    return showsNamespace ? [namespaceOf(row["object"]), ...texts] : texts;
  });
  const { metadata } = body;
  const revision =
    isJsonObject(metadata) && typeof metadata["resourceVersion"] === "string" ? metadata["resourceVersion"] : "";
  return { header: showsNamespace ? ["NAMESPACE", ...header] : header, rows, revision, missing: [] };
}

const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

const listOf = (value: JsonValue | undefined) =>
  Array.isArray(value) ? (value as readonly JsonValue[]).filter(isJsonObject) : [];

function namespaceOf(object: JsonValue | undefined): string {
  const metadata = isJsonObject(object) ? object["metadata"] : undefined;
  return isJsonObject(metadata) && typeof metadata["namespace"] === "string" ? metadata["namespace"] : "";
}

/** `<none>` is what kubectl prints for a cell without a value. */
function cellText(cell: JsonValue | undefined): string {
  if (cell === null || cell === undefined) return "<none>";
  return typeof cell === "string" ? cell : JSON.stringify(cell);
}

/**
 * A row for every change after the table; a deleted object shows its last row. Ends when the watch does.
 *
 * The watch gives objects, not rows, so that each change costs one request for its row: a watch of Tables would have
 * to be parsed by hand, and people do not watch by the thousand. The row is of the object as it is then, which may be
 * newer than the change.
 */
export async function* watchTable(
  request: TableRequest,
  table: ServerTable,
  signal: AbortSignal,
): AsyncIterable<readonly string[]> {
  const { client, type, namespace, names, selector } = request;
  const last = new Map<string, readonly string[]>();
  const options = {
    ...(namespace === undefined ? {} : { namespace }),
    ...(selector === undefined ? {} : { labelSelector: selector }),
    ...(names.length === 0 ? {} : { fieldSelector: `metadata.name=${names[0]}` }),
    resourceVersion: table.revision,
    signal,
  };
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

/** Undefined when the object has gone meanwhile. */
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
