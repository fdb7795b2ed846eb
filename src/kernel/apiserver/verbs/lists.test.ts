import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { memoryStore } from "../store/open.ts";
import {
  configMap,
  type Json,
  pod,
  startTestServer,
  type TestServer,
  widget,
  widgetDefinition,
} from "../testing/index.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const names = (list: Json) => (list["items"] as unknown as Json[]).map((item) => String(item["metadata"]?.["name"]));
const metaOf = (list: Json) => list["metadata"] as unknown as Record<string, string | undefined>;

describe("lists", () => {
  let api: TestServer;
  /** Revision after the first three of five objects. */
  let early: string;
  let late: string;
  beforeAll(async () => {
    api = await startTestServer({ limits: { futureRevisionWaitMs: 20 } });
    for (const name of ["a", "b", "c"])
      await api.ask("POST", maps, { body: configMap(name, {}, { labels: { half: "first" } }) });
    early = metaOf((await api.ask("GET", maps)).json)["resourceVersion"] ?? "";
    for (const name of ["d", "e"]) await api.ask("POST", maps, { body: configMap(name) });
    late = metaOf((await api.ask("GET", maps)).json)["resourceVersion"] ?? "";
  });
  afterAll(() => api.close());

  const old = ["a", "b", "c"];
  const current = ["a", "b", "c", "d", "e"];
  const cells: readonly [string, (revision: string) => string, string[]][] = [
    ["no revision", () => "", current],
    ["revision 0", () => "resourceVersion=0", current],
    ["revision 0, not older", () => "resourceVersion=0&resourceVersionMatch=NotOlderThan", current],
    ["an old revision", (revision) => `resourceVersion=${revision}`, current],
    ["an old revision, exactly", (revision) => `resourceVersion=${revision}&resourceVersionMatch=Exact`, old],
    [
      "an old revision, not older",
      (revision) => `resourceVersion=${revision}&resourceVersionMatch=NotOlderThan`,
      current,
    ],
    ["an old revision with a limit", (revision) => `resourceVersion=${revision}&limit=10`, old],
    [
      "an old revision with a limit, exactly",
      (revision) => `resourceVersion=${revision}&resourceVersionMatch=Exact&limit=10`,
      old,
    ],
    [
      "an old revision with a limit, not older",
      (revision) => `resourceVersion=${revision}&resourceVersionMatch=NotOlderThan&limit=10`,
      current,
    ],
  ];
  test.each(cells)("at %s", async (_what, query, expected) => {
    const answer = await api.ask("GET", `${maps}?${query(early)}`);
    expect(answer.status, answer.text).toBe(200);
    expect(names(answer.json)).toEqual(expected);
    expect(metaOf(answer.json)["resourceVersion"]).toBe(expected === old ? early : late);
  });

  test("pages join to the whole, all at one revision, whatever is written meanwhile", async () => {
    const found: string[] = [];
    const revisions = new Set<string | undefined>();
    let token: string | undefined = "";
    while (token !== undefined) {
      const answer = await api.ask("GET", `/api/v1/configmaps?limit=2&continue=${token}`);
      found.push(...names(answer.json));
      revisions.add(metaOf(answer.json)["resourceVersion"]);
      token = metaOf(answer.json)["continue"];
      await api.ask("POST", maps, { body: configMap(`between-${found.length}`) });
      await api.ask("DELETE", `${maps}/between-${found.length}`);
    }
    expect(found).toEqual(current);
    expect(revisions.size).toBe(1);
  });

  test("what remains is counted, but not with selectors", async () => {
    const plain = await api.ask("GET", `${maps}?limit=2`);
    expect(plain.json["metadata"]).toMatchObject({ remainingItemCount: 3 });
    const selected = await api.ask("GET", `${maps}?limit=2&labelSelector=half`);
    expect(names(selected.json)).toEqual(["a", "b"]);
    expect(metaOf(selected.json)["remainingItemCount"]).toBeUndefined();
    const rest = await api.ask(
      "GET",
      `${maps}?limit=2&labelSelector=half&continue=${metaOf(selected.json)["continue"]}`,
    );
    expect(names(rest.json)).toEqual(["c"]);
    expect(metaOf(rest.json)["continue"]).toBeUndefined();
  });

  test("a name is looked up directly", async () => {
    expect(names((await api.ask("GET", `${maps}?fieldSelector=metadata.name%3Db`)).json)).toEqual(["b"]);
    expect(
      names(
        (await api.ask("GET", "/api/v1/configmaps?fieldSelector=metadata.name%3Db,metadata.namespace%3Ddefault")).json,
      ),
    ).toEqual(["b"]);
    expect(names((await api.ask("GET", `${maps}?fieldSelector=metadata.name%3Dz`)).json)).toEqual([]);
  });

  test("a list of a namespace that does not exist is empty", async () => {
    expect(names((await api.ask("GET", "/api/v1/namespaces/none/configmaps")).json)).toEqual([]);
  });

  test("an unknown token revision of the future is refused by GET as well", async () => {
    const answer = await api.ask("GET", `${maps}/a?resourceVersion=99999999`);
    expect(answer.status).toBe(504);
  });

  test("Pods are selected by their fields, custom objects by their selectable ones", async () => {
    await api.ask("POST", "/api/v1/namespaces/default/pods", { body: pod("p1") });
    expect(
      names((await api.ask("GET", "/api/v1/pods?fieldSelector=status.phase%3DPending,spec.nodeName%3D")).json),
    ).toEqual(["p1"]);
    await api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", { body: widgetDefinition });
    const widgets = "/apis/demo.example.org/v1/namespaces/default/widgets";
    await api.ask("POST", widgets, { body: widget("red", { spec: {} }) });
    await api.ask("POST", widgets, { body: widget("blue", { spec: { color: "blue" } }) });
    expect(names((await api.ask("GET", `${widgets}?fieldSelector=spec.color%3Dred`)).json)).toEqual(["red"]);
    expect(names((await api.ask("GET", `${widgets}?fieldSelector=spec.color!%3Dred`)).json)).toEqual(["blue"]);
  });
});

describe("lists over compacted history", () => {
  test("an expired token comes with one that goes on at the present state", async () => {
    const clock = new FakeClock();
    const store = memoryStore({ clock, retention: { minEvents: 0 } });
    const api = await startTestServer({ clock, store });
    for (let count = 0; count < 10; count++) await api.ask("POST", maps, { body: configMap(`m${count}`) });
    const first = await api.ask("GET", `${maps}?limit=4`);
    const token = metaOf(first.json)["continue"];
    await api.ask("DELETE", `${maps}/m6`);
    await clock.advance(3_600_000);
    await api.ask("POST", maps, { body: configMap("new") });
    await clock.advance(60_000);
    const expired = await api.ask("GET", `${maps}?limit=4&continue=${token}`);
    expect(expired.status, expired.text).toBe(410);
    expect(expired.json).toMatchObject({ reason: "Expired" });
    const goOn = String(expired.json["metadata"]?.["continue"]);
    const rest = await api.ask("GET", `${maps}?limit=400&continue=${goOn}`);
    expect(names(rest.json)).toEqual(["m4", "m5", "m7", "m8", "m9", "new"]);
    expect(
      (
        await api.ask(
          "GET",
          `${maps}?resourceVersion=${metaOf(first.json)["resourceVersion"]}&resourceVersionMatch=Exact`,
        )
      ).status,
    ).toBe(410);
    const watch = await api.watch(`${maps}?watch=1&resourceVersion=${metaOf(first.json)["resourceVersion"]}`);
    expect(watch.status).toBe(200);
    expect(await watch.next()).toMatchObject({
      type: "ERROR",
      object: { kind: "Status", code: 410, reason: "Expired" },
    });
    expect(await watch.next()).toBeUndefined();
    await api.close();
    await store.close();
  });
});
