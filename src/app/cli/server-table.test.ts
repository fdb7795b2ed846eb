import { expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { ApiError, ConfigMap, type KubeObject } from "#kernel/model/index.ts";
import { readTable, type TableRequest, watchTable } from "./server-table.ts";

/** A server that answers with these tables, by path. */
function server(tables: Readonly<Record<string, JsonValue>>) {
  const asked: string[] = [];
  const client = memoryClient();
  client.raw = async (path: string) => {
    asked.push(path);
    const table = tables[path.split("?")[0] ?? ""];
    if (table === undefined) throw new ApiError("NotFound", "there is none");
    return JSON.stringify(table);
  };
  const request = (more: Partial<TableRequest> = {}): TableRequest => ({
    client,
    type: ConfigMap,
    namespace: "default",
    names: [],
    selector: undefined,
    ...more,
  });
  return { client, asked, request };
}

const columns = [
  { name: "Name", type: "string", priority: 0 },
  { name: "Up-to-date", type: "string" },
  { name: "Images", type: "string", priority: 1 },
];
const table = (...rows: readonly (readonly JsonValue[])[]): JsonValue => ({
  kind: "Table",
  metadata: { resourceVersion: "42" },
  columnDefinitions: columns,
  rows: rows.map((cells) => ({ cells, object: { metadata: { name: cells[0] ?? "", namespace: "demo" } } })),
});
const all = "/api/v1/configmaps";
const own = "/api/v1/namespaces/default/configmaps";

test("columns are the server's, in capitals; those of a priority are for wide", async () => {
  const { request } = server({ [own]: table(["a", 1, "x"], ["b", null, ["y"]]) });
  expect(await readTable(request(), false)).toEqual({
    header: ["NAME", "UP-TO-DATE"],
    rows: [
      ["a", "1"],
      ["b", "<none>"],
    ],
    revision: "42",
    missing: [],
  });
  expect((await readTable(request(), true)).rows).toEqual([
    ["a", "1", "x"],
    ["b", "<none>", '["y"]'],
  ]);
});

test("of all namespaces the first column tells which", async () => {
  const { request } = server({ [all]: table(["a", 1, "x"]) });
  const { header, rows } = await readTable(request({ namespace: undefined }), false);
  expect({ header, rows }).toEqual({ header: ["NAMESPACE", "NAME", "UP-TO-DATE"], rows: [["demo", "a", "1"]] });
});

test("names are asked for one by one, in their order; selectors go along with lists", async () => {
  const { request, asked } = server({
    [`${own}/b`]: table(["b", 1, ""]),
    [`${own}/a%2F`]: table(["a/", 2, ""]),
    [own]: table(),
  });
  expect((await readTable(request({ names: ["b", "a/"] }), false)).rows).toEqual([
    ["b", "1"],
    ["a/", "2"],
  ]);
  await readTable(request({ selector: "app in (x,y)" }), false);
  expect(asked.at(-1)).toBe(`${own}?labelSelector=app%20in%20(x%2Cy)`);
  expect(await readTable(request({ names: ["none", "b"] }), false)).toMatchObject({
    rows: [["b", "1"]],
    missing: [{ code: 404 }],
  });
});

test.each<JsonValue>([{ kind: "ConfigMapList", items: [] }, [], null, "Table"])("%j is no table", async (answer) => {
  const { request } = server({ [own]: answer });
  await expect(readTable(request(), false)).rejects.toThrow(/^the server answered with .*, expected a Table$/);
});

test("a table of a server that says little is read as far as it goes", async () => {
  const { request } = server({ [own]: { kind: "Table", rows: [{ cells: ["a"] }, {}, 5] } });
  expect(await readTable(request(), false)).toEqual({ header: [], rows: [[], []], revision: "", missing: [] });
});

test("a watch tells a row per change, the last one known of what is deleted, and nothing of what is gone", async () => {
  const rows: Record<string, JsonValue> = { [`${own}/a`]: table(["a", 1, ""]) };
  const { client, request } = server(rows);
  const map = (name: string): KubeObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default" },
  });
  const stop = new AbortController();
  const { metadata } = await client.list(ConfigMap, { namespace: "default" });
  const seen: (readonly string[])[] = [];
  const watching = (async () => {
    for await (const row of watchTable(
      request(),
      { header: [], rows: [], revision: metadata.resourceVersion, missing: [] },
      stop.signal,
    )) {
      seen.push(row);
      if (seen.length === 2) stop.abort();
    }
  })();
  await client.create(ConfigMap, map("never-readable"));
  await client.create(ConfigMap, map("a"));
  await client.delete({ type: ConfigMap, namespace: "default", name: "a" });
  await watching;
  expect(seen).toEqual([
    ["a", "1"],
    ["a", "1"],
  ]);
});
