import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type Api, type Json, openApi } from "./suite/api.ts";

// What clients rely on below kubectl, by raw requests: forms, pages, the table of lists, watches.

let api: Api;
let maps: string;
let namespace: string;
const bySet = "labelSelector=set%3Dlisted";

beforeAll(async () => {
  api = await openApi(inject("kubeconfig"));
  namespace = `conf-${randomBytes(4).toString("hex")}`;
  maps = `/api/v1/namespaces/${namespace}/configmaps`;
  await made(api, "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  for (const name of ["a", "b", "c", "d", "e"]) await made(api, maps, listed(name));
});
afterAll(async () => {
  await api.ask("DELETE", `/api/v1/namespaces/${namespace}`);
  api.close();
});

const configMap = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...more },
});
const listed = (name: string) => configMap(name, { labels: { set: "listed" } });

async function made(server: Api, path: string, body: object): Promise<Json> {
  const { status, json, text } = await server.ask("POST", path, { body });
  expect(status, text).toBe(201);
  return json;
}

const listAt = (query: string) => api.ask("GET", `${maps}?${bySet}&${query}`);
const names = (list: Json): readonly string[] =>
  (list["items"] as never as readonly { readonly metadata: { readonly name: string } }[]).map(
    ({ metadata }) => metadata.name,
  );
const revisionOf = (object: Json): string => String(object["metadata"]?.["resourceVersion"]);

describe("30. discovery", () => {
  test("documents of each group are there for clients that know no other", async () => {
    expect((await api.ask("GET", "/api")).json).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
    const { json } = await api.ask("GET", "/apis");
    expect(json).toMatchObject({ kind: "APIGroupList" });
    const core = await api.ask("GET", "/api/v1");
    expect(core.json).toMatchObject({ kind: "APIResourceList", groupVersion: "v1" });
    expect(core.json["resources"]).toContainEqual(
      expect.objectContaining({ name: "configmaps", namespaced: true, kind: "ConfigMap", shortNames: ["cm"] }),
    );
    expect((await api.ask("GET", "/apis/batch")).json).toMatchObject({ kind: "APIGroup", name: "batch" });
    expect((await api.ask("GET", "/apis/nonsense.example.org/v1")).status).toBe(404);
  });

  test("all kinds come in one document, with a tag to ask again by", async () => {
    const Accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const first = await api.ask("GET", "/apis", { headers: { Accept } });
    expect(first.headers["content-type"]).toBe(Accept);
    expect(first.json).toMatchObject({ kind: "APIGroupDiscoveryList" });
    let tag = String(first.headers.etag);
    const ask = () => api.ask("GET", "/apis", { headers: { Accept, "If-None-Match": tag } });
    let again = await ask();
    // Somebody else has defined a kind or deleted one: the document is another one, under another tag.
    for (; again.status === 200; again = await ask()) {
      expect(again.headers.etag).not.toBe(tag);
      tag = String(again.headers.etag);
    }
    expect(again).toMatchObject({ status: 304, text: "" });
  });
});

describe("31. forms", () => {
  const as = (form: string) => ({ Accept: `application/json;as=${form};g=meta.k8s.io;v=v1` });

  test("a Table, its rows with partial metadata, whole objects or none", async () => {
    const { json, headers } = await api.ask("GET", `${maps}?${bySet}`, { headers: as("Table") });
    expect(headers["content-type"]).toContain("as=Table");
    expect(json).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1" });
    expect(json["rows"]).toHaveLength(5);
    expect(json["rows"]?.[0]).toMatchObject({
      cells: ["a", 0, expect.any(String)],
      object: { kind: "PartialObjectMetadata" },
    });
    const whole = await api.ask("GET", `${maps}?${bySet}&includeObject=Object`, { headers: as("Table") });
    expect(whole.json["rows"]?.[0]).toMatchObject({ object: { kind: "ConfigMap" } });
    const none = await api.ask("GET", `${maps}?${bySet}&includeObject=None`, { headers: as("Table") });
    expect(none.json["rows"]?.[0]?.["object"] ?? null).toBeNull();
  });

  test("partial metadata of one and of all", async () => {
    const one = await api.ask("GET", `${maps}/a`, { headers: as("PartialObjectMetadata") });
    expect(one.json).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "a" } });
    expect(one.json).not.toHaveProperty("data");
    const all = await api.ask("GET", `${maps}?${bySet}`, { headers: as("PartialObjectMetadataList") });
    expect(all.json).toMatchObject({ kind: "PartialObjectMetadataList" });
    expect(names(all.json)).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("JSON is laid out for people, with the same content", async () => {
    const { text, json } = await api.ask("GET", `${maps}?${bySet}&pretty=true`);
    expect(text.trim()).toBe(JSON.stringify(json, undefined, 2));
    const plain = await api.ask("GET", `${maps}?${bySet}&pretty=false`, { headers: { "User-Agent": "curl/8.5.0" } });
    expect(plain.text.trim()).toBe(JSON.stringify(plain.json));
    expect(plain.json["items"]).toEqual(json["items"]);
  });

  test("what nobody can make is 406", async () => {
    const { status, json } = await api.ask("GET", maps, { headers: { Accept: "image/png" } });
    expect({ status, reason: json["reason"] }).toEqual({ status: 406, reason: "NotAcceptable" });
  });
});

describe("32. lists that are watches", () => {
  test("begin with all there is, a bookmark, and go on live", async () => {
    const query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const watch = await api.watch(`${maps}?${bySet}&${query}`);
    const begun = await watch.until(({ type }) => type === "BOOKMARK");
    expect(begun.slice(0, -1).map(({ type, object }) => `${type} ${object["metadata"]?.["name"]}`)).toEqual(
      ["a", "b", "c", "d", "e"].map((name) => `ADDED ${name}`),
    );
    expect(begun.at(-1)?.object).toMatchObject({
      kind: "ConfigMap",
      metadata: {
        annotations: { "k8s.io/initial-events-end": "true" },
        resourceVersion: expect.stringMatching(/^\d+$/),
      },
    });
    await made(api, maps, listed("later"));
    expect(await watch.next()).toMatchObject({ type: "ADDED", object: { metadata: { name: "later" } } });
    watch.close();
    await api.ask("DELETE", `${maps}/later`);
  });
});

describe("33. the table of lists", () => {
  // What a list shows after its revision was left behind by one more object.
  let then: string;
  let now: readonly string[];
  const before = ["a", "b", "c", "d", "e"];

  beforeAll(async () => {
    then = revisionOf((await listAt("")).json);
    await made(api, maps, listed("f"));
    now = [...before, "f"];
  });
  afterAll(() => api.ask("DELETE", `${maps}/f`));

  const rows: readonly (readonly [
    query: string,
    match: "" | "Exact" | "NotOlderThan",
    expected: "now" | "then" | number,
  ])[] = [
    ["", "", "now"],
    ["", "Exact", 422],
    ["", "NotOlderThan", 422],
    ["resourceVersion=0", "", "now"],
    ["resourceVersion=0", "Exact", 422],
    ["resourceVersion=0", "NotOlderThan", "now"],
    ["resourceVersion=N", "", "now"],
    ["resourceVersion=N", "Exact", "then"],
    ["resourceVersion=N", "NotOlderThan", "now"],
    ["resourceVersion=N&limit=10", "", "then"],
    ["resourceVersion=N&limit=10", "Exact", "then"],
    ["resourceVersion=N&limit=10", "NotOlderThan", "now"],
  ];
  test.each(rows)("%j with match %j: %s", async (query, match, expected) => {
    const asked = [query.replace("N", then), match === "" ? "" : `resourceVersionMatch=${match}`]
      .filter(Boolean)
      .join("&");
    const { status, json } = await listAt(asked);
    if (typeof expected === "number") expect(status).toBe(expected);
    else {
      expect(status).toBe(200);
      expect(names(json)).toEqual(expected === "now" ? now : before);
    }
  });

  test("a token goes on at its own revision, with no other match and no revision beside it", async () => {
    const token = (await listAt("limit=2")).json["metadata"]?.["continue"];
    const on = (more: string) => listAt(`limit=2&continue=${encodeURIComponent(String(token))}${more}`);
    expect(names((await on("")).json)).toEqual(["c", "d"]);
    expect(names((await on("&resourceVersion=0")).json)).toEqual(["c", "d"]);
    expect((await on("&resourceVersionMatch=Exact")).status).toBe(422);
    expect((await on("&resourceVersionMatch=NotOlderThan")).status).toBe(422);
    expect((await on(`&resourceVersion=${then}`)).status).toBe(400);
  });

  test.each([
    ["watch=1&sendInitialEvents=true", 422],
    ["watch=1&sendInitialEvents=true&resourceVersionMatch=Exact", 422],
    ["watch=1&resourceVersionMatch=NotOlderThan", 422],
    ["sendInitialEvents=true&resourceVersionMatch=NotOlderThan", 422],
    ["watch=1&resourceVersion=abc", 400],
  ] as const)("a request for %s is refused with %d", async (query, wanted) => {
    expect((await listAt(query)).status).toBe(wanted);
  });

  test("a watch from a revision shows what came after it, and an end by itself in time", async () => {
    const watch = await api.watch(`${maps}?${bySet}&watch=1&resourceVersion=${then}&timeoutSeconds=1`);
    expect(await watch.next()).toMatchObject({ type: "ADDED", object: { metadata: { name: "f" } } });
    expect(await watch.next()).toBeUndefined();
  });

  test("a change of labels enters and leaves the selection of a watch", async () => {
    const watch = await api.watch(`${maps}?labelSelector=on%3D1&watch=1`);
    const label = (value: string | null) =>
      api.ask("PATCH", `${maps}/a`, {
        body: { metadata: { labels: { on: value } } },
        headers: { "Content-Type": "application/merge-patch+json" },
      });
    await label("1");
    expect(await watch.next()).toMatchObject({ type: "ADDED" });
    const left = (await label(null)).json;
    const event = await watch.next();
    expect(event).toMatchObject({ type: "DELETED", object: { metadata: { labels: { on: "1" } } } });
    expect(event?.object["metadata"]?.["resourceVersion"]).toBe(revisionOf(left));
    watch.close();
  });
});

test("34. pages of one listing are of one revision while 1,000 writes happen", async () => {
  const create = async (from: number, count: number, set: string) => {
    for (let at = from; at < from + count; at += 20) {
      const batch = Array.from({ length: 20 }, (_, n) =>
        configMap(`${set}-${String(at + n).padStart(4, "0")}`, { labels: { set } }),
      );
      await Promise.all(batch.map((body) => made(api, maps, body)));
    }
  };
  await create(0, 200, "paged");
  const writes = { areOver: false };
  const writing = create(200, 1000, "paged").finally(() => (writes.areOver = true));
  let listings = 0;
  do {
    const seen: string[] = [];
    const revisions = new Set<string>();
    let token = "";
    do {
      const { json } = await api.ask(
        "GET",
        `${maps}?labelSelector=set%3Dpaged&limit=50&continue=${encodeURIComponent(token)}`,
      );
      seen.push(...names(json));
      revisions.add(revisionOf(json));
      token = (json["metadata"]?.["continue"] as string | undefined) ?? "";
    } while (token !== "");
    expect(revisions.size).toBe(1);
    expect(new Set(seen).size).toBe(seen.length);
    const whole = await api.ask(
      "GET",
      `${maps}?labelSelector=set%3Dpaged&resourceVersion=${[...revisions][0]}&resourceVersionMatch=Exact`,
    );
    expect(seen).toEqual(names(whole.json));
    listings += 1;
  } while (!writes.areOver);
  await writing;
  expect(listings).toBeGreaterThan(1);
});

test("41. a hundred increments at once, each retried on conflict, make a hundred", async () => {
  await made(api, maps, { ...configMap("counter"), data: { n: "0" } });
  const increment = async (): Promise<void> => {
    for (;;) {
      const { json } = await api.ask("GET", `${maps}/counter`);
      const body = { ...json, data: { n: String(Number(json["data"]?.["n"]) + 1) } };
      const { status, text } = await api.ask("PUT", `${maps}/counter`, { body });
      if (status === 200) return;
      expect(status, text).toBe(409);
    }
  };
  await Promise.all(Array.from({ length: 100 }, increment));
  expect((await api.ask("GET", `${maps}/counter`)).json["data"]).toEqual({ n: "100" });
});

test("42. ten thousand generated names are all different", async () => {
  const seen = new Set<string>();
  for (let round = 0; round < 100; round += 1) {
    const body = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { generateName: "g-", labels: { set: "generated" } },
    };
    const answers = await Promise.all(Array.from({ length: 100 }, () => api.ask("POST", maps, { body })));
    for (const { status, json } of answers) {
      expect(status).toBe(201);
      seen.add(String(json["metadata"]?.["name"]));
    }
  }
  expect(seen.size).toBe(10_000);
  expect([...seen].every((name) => /^g-[bcdfghjklmnpqrstvwxz2456789]{5}$/.test(name))).toBe(true);
});
