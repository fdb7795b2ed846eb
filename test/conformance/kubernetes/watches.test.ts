import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { memoryStore, openStore } from "#kernel/apiserver/store/open.ts";
import {
  configMap,
  type Json,
  startTestServer,
  type TestServer,
  type TestWatch,
  waitUntil,
} from "#kernel/apiserver/testing/index.ts";

// Watches by raw GET: where they begin, what they show of selections that change, bookmarks, forms, and how they end.

const maps = "/api/v1/namespaces/kube-public/configmaps";
const json = { "Content-Type": "application/merge-patch+json" };
const metaOf = (value: Json | undefined) => value?.["metadata"] as unknown as Record<string, string> | undefined;
const brief = (event: Json | undefined) =>
  event === undefined ? "end" : `${String(event["type"])} ${metaOf(event["object"])?.["name"] ?? ""}`.trim();

describe("where a watch begins", () => {
  let api: TestServer;
  let early: string;
  let late: string;
  beforeAll(async () => {
    api = await startTestServer();
    await api.ask("POST", maps, { body: configMap("a") });
    early = metaOf((await api.ask("GET", maps)).json)?.["resourceVersion"] ?? "";
    await api.ask("POST", maps, { body: configMap("b") });
    late = metaOf((await api.ask("GET", maps)).json)?.["resourceVersion"] ?? "";
  });
  afterAll(() => api.close());

  const bookmarks = "allowWatchBookmarks=true";
  const initial = `sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
  // What comes before anything happens; N is the revision between a and b, L the last one.
  const rows: readonly (readonly [string, readonly string[] | 400 | 422])[] = [
    ["", ["ADDED a", "ADDED b"]],
    ["resourceVersion=", ["ADDED a", "ADDED b"]],
    ["resourceVersion=0", ["ADDED a", "ADDED b"]],
    ["resourceVersion=N", ["ADDED b"]],
    ["resourceVersion=L", []],
    [initial, ["ADDED a", "ADDED b"]],
    [`${initial}&${bookmarks}`, ["ADDED a", "ADDED b", "BOOKMARK"]],
    [`${initial}&${bookmarks}&resourceVersion=0`, ["ADDED a", "ADDED b", "BOOKMARK"]],
    [`${initial}&${bookmarks}&resourceVersion=N`, ["ADDED a", "ADDED b", "BOOKMARK"]],
    [`${initial}&${bookmarks}&resourceVersion=L`, ["ADDED a", "ADDED b", "BOOKMARK"]],
    ["sendInitialEvents=false&resourceVersionMatch=NotOlderThan", []],
    ["sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0", []],
    ["sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=N", ["ADDED b"]],
    ["sendInitialEvents=true", 422],
    ["sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=N", 422],
    ["sendInitialEvents=false", 422],
    ["resourceVersionMatch=NotOlderThan&resourceVersion=N", 422],
    ["resourceVersionMatch=Exact&resourceVersion=N", 422],
    ["sendInitialEvents=perhaps&resourceVersionMatch=NotOlderThan", 400],
    ["resourceVersion=x", 400],
  ];
  test.each(rows)("?watch=true&%s", async (query, expected) => {
    const path = `${maps}?watch=true&fieldSelector=metadata.name!%3Dkube-root-ca.crt&${query}`
      .replace(/=N(?=&|$)/, `=${early}`)
      .replace(/=L(?=&|$)/, `=${late}`);
    if (typeof expected === "number") {
      const refused = await api.ask("GET", path);
      expect({ status: refused.status, kind: refused.json["kind"] }).toEqual({ status: expected, kind: "Status" });
      return;
    }
    const watch = await api.watch(path);
    expect(watch.status).toBe(200);
    const events: Json[] = [];
    for (const _ of expected) events.push((await watch.next()) ?? {});
    expect(events.map(brief)).toEqual(expected);
    const mark = events.find((event) => brief(event) === "BOOKMARK");
    if (mark !== undefined) {
      expect(mark["object"]).toEqual({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { resourceVersion: String(api.store.revision), annotations: { "k8s.io/initial-events-end": "true" } },
      });
    }
    // Then it is live, and nothing has been told twice.
    await api.ask("PATCH", `${maps}/a`, { bytes: JSON.stringify({ data: { at: query } }), headers: json });
    expect(brief(await watch.next())).toBe("MODIFIED a");
    watch.close();
    late = String(api.store.revision);
    await api.ask("DELETE", `${maps}/a`);
    await api.ask("DELETE", `${maps}/b`);
    await api.ask("POST", maps, { body: configMap("a") });
    early = String(api.store.revision);
    await api.ask("POST", maps, { body: configMap("b") });
    late = String(api.store.revision);
  });
});

describe("a selection that changes", () => {
  let api: TestServer;
  let watch: TestWatch;
  beforeAll(async () => void (api = await startTestServer()));
  afterEach(() => watch.close());
  afterAll(() => api.close());
  const label = (name: string, on: string | null, more: object = {}) =>
    api.ask("PATCH", `${maps}/${name}`, {
      bytes: JSON.stringify({ metadata: { labels: { on }, ...more } }),
      headers: json,
    });

  test("shows objects entering as added, leaving as deleted under the revision of the change", async () => {
    await api.ask("POST", maps, { body: configMap("x") });
    watch = await api.watch(`${maps}?watch=1&labelSelector=on&resourceVersion=${api.store.revision}`);
    await label("x", "1");
    await label("x", "2");
    const left = await label("x", null);
    await label("x", "3");
    await api.ask("DELETE", `${maps}/x`);
    const events: (Json | undefined)[] = [];
    for (let at = 0; at < 5; at++) events.push(await watch.next());
    expect(events.map(brief)).toEqual(["ADDED x", "MODIFIED x", "DELETED x", "ADDED x", "DELETED x"]);
    // The object as it was while it was selected.
    expect(events[2]?.["object"]).toMatchObject({
      metadata: { labels: { on: "2" }, resourceVersion: metaOf(left.json)?.["resourceVersion"] },
    });
    expect(metaOf(events[4]?.["object"])).toMatchObject({ resourceVersion: String(api.store.revision) });
  });

  test("tells nobody of the end of an object that was never selected, whatever its last change was", async () => {
    await api.ask("POST", maps, { body: configMap("held", {}, { finalizers: ["example.org/wait"] }) });
    await api.ask("DELETE", `${maps}/held`);
    watch = await api.watch(`${maps}?watch=1&labelSelector=on&resourceVersion=${api.store.revision}`);
    await label("held", "1", { finalizers: null });
    await api.ask("POST", maps, { body: configMap("next", {}, { labels: { on: "1" } }) });
    expect(brief(await watch.next())).toBe("ADDED next");
  });
});

describe("forms", () => {
  const forms = ["Table", "PartialObjectMetadata"] as const;
  test.each(forms)("a WatchList as %s keeps the form in every event, and bookmarks their annotation", async (as) => {
    const api = await startTestServer();
    await api.ask("POST", maps, { body: configMap("a", { data: { secret: "hidden" } }) });
    const only = "fieldSelector=metadata.name!%3Dkube-root-ca.crt";
    const watch = await api.watch(
      `${maps}?watch=1&${only}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
      { Accept: `application/json;as=${as};g=meta.k8s.io;v=v1` },
    );
    expect(String(watch.headers["content-type"])).toContain(`as=${as}`);
    const events = [await watch.next(), await watch.next()];
    await api.ask("DELETE", `${maps}/a`);
    events.push(await watch.next());
    expect(events.map((event) => event?.["type"])).toEqual(["ADDED", "BOOKMARK", "DELETED"]);
    for (const event of events) expect(event?.["object"]).toMatchObject({ kind: as, apiVersion: "meta.k8s.io/v1" });
    expect(JSON.stringify(events[1])).toContain('"k8s.io/initial-events-end":"true"');
    expect(JSON.stringify(events)).not.toContain("hidden");
    if (as === "Table") {
      expect(events[0]?.["object"]?.["columnDefinitions"]).toHaveLength(3);
      expect(events[2]?.["object"]?.["columnDefinitions"] ?? null).toBeNull();
    }
    watch.close();
    await api.close();
  });

  test("what is refused inside a table watch is a Status", async () => {
    const clock = new FakeClock();
    const store = memoryStore({ clock, retention: { minEvents: 0 } });
    const api = await startTestServer({ clock, store });
    const revision = api.store.revision;
    await api.ask("POST", maps, { body: configMap("a") });
    await api.ask("POST", maps, { body: configMap("b") });
    await clock.advance(3_600_000);
    expect(store.compactedRevision).toBeGreaterThan(revision);
    const watch = await api.watch(`${maps}?watch=1&resourceVersion=${revision}`, {
      Accept: "application/json;as=Table;g=meta.k8s.io;v=v1",
    });
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

describe("ends", () => {
  test("with a last bookmark when its time is up, where bookmarks are wanted", async () => {
    const clock = new FakeClock();
    const api = await startTestServer({ clock });
    const watch = await api.watch(
      `${maps}?watch=1&resourceVersion=${api.store.revision}&allowWatchBookmarks=1&timeoutSeconds=200`,
    );
    await clock.advance(60_000);
    expect(brief(await watch.next())).toBe("BOOKMARK");
    await api.ask("POST", "/api/v1/namespaces/default/configmaps", { body: configMap("elsewhere") });
    const moved = String(api.store.revision);
    await clock.advance(60_000);
    expect(metaOf((await watch.next())?.["object"])).toEqual({ resourceVersion: moved });
    await clock.advance(80_000);
    expect([brief(await watch.next()), brief(await watch.next()), await watch.next()]).toEqual([
      "BOOKMARK",
      "BOOKMARK",
      undefined,
    ]);
    await api.close();
  });

  test("within 30 to 60 minutes when nobody says when", async () => {
    const clock = new FakeClock();
    const api = await startTestServer({ clock, random: () => 0.999 });
    const watch = await api.watch(`${maps}?watch=1&resourceVersion=${api.store.revision}`);
    let ended = false;
    void watch.next().then((event) => (ended = event === undefined));
    await clock.advance(1_800_000);
    await api.ask("GET", maps);
    expect(ended).toBe(false);
    await clock.advance(1_800_000);
    await waitUntil(() => ended);
    await api.close();
  });

  test("and is taken up again after a restart of the server: nothing missing, nothing twice", async () => {
    const directory = await mkdtemp(join(tmpdir(), "slipway-watch-"));
    const seen: string[] = [];
    let revision = "";
    for (let life = 0; life < 3; life++) {
      const store = await openStore(directory);
      const api = await startTestServer({ store });
      if (revision === "") revision = String(api.store.revision);
      const watch = await api.watch(`${maps}?watch=1&resourceVersion=${revision}`);
      // The last life writes more than the watcher reads before the server ends.
      for (let at = 0; at < 20; at++) await api.ask("POST", maps, { body: configMap(`m-${life}-${at}`) });
      for (let at = 0; at < 10; at++) {
        const event = await watch.next();
        if (metaOf(event?.["object"])?.["name"]?.startsWith("m-") !== true) {
          at -= 1;
          continue;
        }
        seen.push(metaOf(event?.["object"])?.["name"] ?? "");
        revision = metaOf(event?.["object"])?.["resourceVersion"] ?? "";
      }
      watch.close();
      await api.close();
      await store.close();
    }
    const store = await openStore(directory);
    const api = await startTestServer({ store });
    const watch = await api.watch(`${maps}?watch=1&resourceVersion=${revision}`);
    while (seen.length < 60) {
      const name = metaOf((await watch.next())?.["object"])?.["name"] ?? "";
      if (name.startsWith("m-")) seen.push(name);
    }
    expect(seen).toEqual([0, 1, 2].flatMap((life) => Array.from({ length: 20 }, (_, at) => `m-${life}-${at}`)));
    watch.close();
    await api.close();
    await store.close();
    await rm(directory, { recursive: true });
  });
});
