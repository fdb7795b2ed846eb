import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { memoryStore } from "#kernel/apiserver/store/open.ts";
import { ConfigMap } from "#kernel/model/index.ts";
import { configMap, type Json, startTestServer, type TestServer } from "#kernel/apiserver/testing/index.ts";

// Lists by raw GET: every cell of the table of resourceVersion, resourceVersionMatch, limit and continue; pages under writes; pages over
// compacted history.

const maps = "/api/v1/namespaces/kube-public/configmaps";
const names = (list: Json) => (list["items"] as unknown as Json[]).map((item) => String(item["metadata"]?.["name"]));
const metaOf = (list: Json) => list["metadata"] as unknown as Record<string, string | undefined>;

describe("every cell of the table of lists", () => {
  let api: TestServer;
  /** The revision after two of four objects, and a token of a list at that revision. */
  let early: string;
  let token: string;
  let late: string;
  beforeAll(async () => {
    api = await startTestServer();
    for (const name of ["a", "b"]) await api.ask("POST", maps, { body: configMap(name) });
    const first = await api.ask("GET", `${maps}?limit=1`);
    early = metaOf(first.json)["resourceVersion"] ?? "";
    token = metaOf(first.json)["continue"] ?? "";
    for (const name of ["c", "d"]) await api.ask("POST", maps, { body: configMap(name) });
    late = metaOf((await api.ask("GET", maps)).json)["resourceVersion"] ?? "";
  });
  afterAll(() => api.close());

  const now = { names: ["a", "b", "c", "d"], late: true };
  const then = { names: ["a", "b"], late: false };
  const rest = { names: ["b"], late: false };
  type Expected = typeof now | 400 | 422;
  // Columns: no match, Exact, NotOlderThan. `N` stands for the early revision, `T` for the token.
  const table: readonly (readonly [string, Expected, Expected, Expected])[] = [
    ["", now, 422, 422],
    ["limit=9", now, 422, 422],
    ["resourceVersion=", now, 422, 422],
    ["resourceVersion=0", now, 422, now],
    ["resourceVersion=0&limit=9", now, 422, now],
    ["resourceVersion=N", now, then, now],
    ["resourceVersion=N&limit=9", then, then, now],
    ["resourceVersion=N&limit=0", now, then, now],
    ["continue=T", rest, 422, 422],
    ["continue=T&limit=9", rest, 422, 422],
    ["continue=T&resourceVersion=0", rest, 422, 422],
    ["continue=T&resourceVersion=N", 400, 422, 422],
    ["continue=&resourceVersion=N", now, then, now],
  ];
  const cells = table.flatMap(([query, unset, exact, notOlder]) =>
    (
      [
        ["", unset],
        ["Exact", exact],
        ["NotOlderThan", notOlder],
      ] as const
    ).map(([match, expected]) => [match === "" ? query : `${query}&resourceVersionMatch=${match}`, expected] as const),
  );
  test.each(cells)("?%s", async (query, expected) => {
    const filled = query.replace(/=N(?=&|$)/, `=${early}`).replace(/=T(?=&|$)/, `=${token}`);
    const { status, json, text } = await api.ask("GET", `${maps}?${filled}`);
    if (typeof expected === "number") {
      expect({ status, kind: json["kind"] }).toEqual({ status: expected, kind: "Status" });
      return;
    }
    expect(status, text).toBe(200);
    expect(names(json)).toEqual(expected.names);
    expect(metaOf(json)["resourceVersion"]).toBe(expected.late ? late : early);
  });
});

test("a list in pages while a thousand writes happen shows one revision: no duplicate, no gap", async () => {
  const api = await startTestServer();
  const all = Array.from({ length: 100 }, (_, at) => `m${String(at).padStart(3, "0")}`);
  await api.client.createMany?.(
    ConfigMap,
    all.map((name) => configMap(name, {}, { namespace: "kube-public" })),
  );
  const writes = (async () => {
    for (let round = 0; round < 50; round++) {
      await Promise.all(
        Array.from({ length: 20 }, (_, at) => {
          const name = all[(round * 7 + at) % all.length] ?? "";
          const object = configMap(at % 3 === 1 ? name : `n-${round}-${at}`, {}, { namespace: "kube-public" });
          const done =
            at % 3 === 0
              ? api.client.delete({ type: ConfigMap, namespace: "kube-public", name })
              : api.client.create(ConfigMap, object);
          // Names come and go: some are there already, some are gone.
          return done.catch(() => undefined);
        }),
      );
    }
  })();
  const found: string[] = [];
  const revisions = new Set<string | undefined>();
  for (let token: string | undefined = ""; token !== undefined; ) {
    const { json } = await api.ask("GET", `${maps}?limit=3&continue=${token}`);
    found.push(...names(json));
    revisions.add(metaOf(json)["resourceVersion"]);
    token = metaOf(json)["continue"];
  }
  expect(revisions.size).toBe(1);
  expect(new Set(found).size).toBe(found.length);
  const [revision = ""] = revisions;
  const whole = await api.ask("GET", `${maps}?resourceVersion=${revision}&resourceVersionMatch=Exact`);
  expect(found).toEqual(names(whole.json));
  await writes;
  await api.close();
});

describe("over compacted history", () => {
  test("a token is 410, and the one that comes with it goes on at the present state to the end", async () => {
    const clock = new FakeClock();
    const store = memoryStore({ clock, retention: { minEvents: 0 } });
    const api = await startTestServer({ clock, store });
    for (let at = 0; at < 9; at++) await api.ask("POST", maps, { body: configMap(`m${at}`) });
    const first = await api.ask("GET", `${maps}?limit=4`);
    await api.ask("DELETE", `${maps}/m1`);
    await api.ask("DELETE", `${maps}/m6`);
    await clock.advance(3_600_000);
    await api.ask("POST", maps, { body: configMap("new") });
    await clock.advance(60_000);
    const expired = await api.ask("GET", `${maps}?limit=4&continue=${metaOf(first.json)["continue"]}`);
    expect(expired).toMatchObject({ status: 410, json: { reason: "Expired", code: 410 } });
    expect(String(expired.json["message"])).toMatch(/continue/);
    const found = names(first.json);
    for (let token = metaOf(expired.json)["continue"]; token !== undefined; ) {
      const page = await api.ask("GET", `${maps}?limit=2&continue=${token}`);
      expect(page.status, page.text).toBe(200);
      found.push(...names(page.json));
      token = metaOf(page.json)["continue"];
    }
    // What was deleted after its page had been read is still in it; what comes later is of the present.
    expect(found.filter((name) => name !== "kube-root-ca.crt")).toEqual([
      "m0",
      "m1",
      "m2",
      "m3",
      "m4",
      "m5",
      "m7",
      "m8",
      "new",
    ]);
    await api.close();
    await store.close();
  });
});

describe("tokens belong to the list they came from", () => {
  let api: TestServer;
  let token: string;
  beforeAll(async () => {
    api = await startTestServer();
    for (const name of ["a", "b", "c"]) await api.ask("POST", maps, { body: configMap(name) });
    token = metaOf((await api.ask("GET", `${maps}?limit=1`)).json)["continue"] ?? "";
  });
  afterAll(() => api.close());
  const refused: readonly (readonly [string, () => string])[] = [
    ["of another kind", () => `/api/v1/namespaces/kube-public/secrets?continue=${token}`],
    ["of another namespace", () => `/api/v1/namespaces/default/configmaps?continue=${token}`],
    ["cut", () => `${maps}?continue=${token.slice(0, -8)}`],
    ["changed", () => `${maps}?continue=${token.slice(0, 12)}${token[12] === "A" ? "B" : "A"}${token.slice(13)}`],
    [
      "of another server",
      () =>
        `${maps}?continue=${Buffer.from('{"v":"meta.k8s.io/v1","rv":3,"start":"kube-public/a\\u0000"}').toString("base64url")}`,
    ],
    ["that is no base64", () => `${maps}?continue=%00%01`],
  ];
  test.each(refused)("a token %s is 400", async (_what, path) => {
    expect((await api.ask("GET", path())).status).toBe(400);
  });
  test("a token of one namespace goes on in all", async () => {
    const { json } = await api.ask("GET", `/api/v1/configmaps?continue=${token}&limit=1`);
    expect(names(json)).toEqual(["b"]);
  });
});

describe("one object by raw GET", () => {
  let api: TestServer;
  beforeAll(async () => {
    api = await startTestServer();
    await api.ask("POST", maps, { body: configMap("there", { data: { a: "b" } }) });
  });
  afterAll(() => api.close());
  const accept = (as: string) => ({ headers: { Accept: `application/json;as=${as};g=meta.k8s.io;v=v1` } });

  test("as a table, whose rows carry metadata, the object or nothing", async () => {
    const table = (query: string) => api.ask("GET", `${maps}/there${query}`, accept("Table"));
    const plain = await table("");
    expect(plain.headers["content-type"]).toBe("application/json;as=Table;v=v1;g=meta.k8s.io");
    expect(plain.json).toMatchObject({
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      rows: [{ cells: ["there", 1, expect.anything()], object: { kind: "PartialObjectMetadata" } }],
    });
    expect(JSON.stringify(plain.json["columnDefinitions"])).toContain('"Name"');
    expect((await table("?includeObject=Object")).json["rows"]).toMatchObject([{ object: { data: { a: "b" } } }]);
    expect((await table("?includeObject=None")).json["rows"]).toEqual([{ cells: expect.anything() }]);
    expect((await table("?includeObject=Everything")).status).toBe(400);
  });

  test("as its metadata alone, one and in a list", async () => {
    const one = await api.ask("GET", `${maps}/there`, accept("PartialObjectMetadata"));
    expect(one.json).toMatchObject({ kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" });
    expect(one.json["data"]).toBeUndefined();
    const list = await api.ask("GET", maps, accept("PartialObjectMetadataList"));
    expect(list.json).toMatchObject({ kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" });
    expect(names(list.json)).toContain("there");
    expect(list.text).not.toContain('"data"');
  });

  test("what is not spoken is passed over while something is left, and 406 when nothing is", async () => {
    const get = (Accept: string) => api.ask("GET", `${maps}/there`, { headers: { Accept } });
    expect((await get("application/vnd.kubernetes.protobuf, application/json")).status).toBe(200);
    expect((await get("application/json;as=Table;g=meta.k8s.io;v=v1beta1, application/json")).json["kind"]).toBe(
      "ConfigMap",
    );
    expect((await get("application/yaml")).text).toContain("kind: ConfigMap\n");
    expect((await get("application/vnd.kubernetes.protobuf")).json).toMatchObject({
      reason: "NotAcceptable",
      code: 406,
    });
  });
});
