import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { ConfigMap } from "#kernel/model/index.ts";
import {
  configMap,
  type Json,
  startTestServer,
  type TestServer,
  type TestWatch,
  waitUntil,
  widget,
  widgetDefinition,
} from "../testing/index.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const brief = (event: Json | undefined) =>
  event && `${String(event["type"])} ${String(event["object"]?.["metadata"]?.["name"])}`;

describe("a watch over HTTPS", () => {
  let api: TestServer;
  let watch: TestWatch | undefined;
  beforeAll(async () => {
    api = await startTestServer();
  });
  afterAll(() => api.close());
  afterEach(async () => {
    watch?.close();
    await api.ask("DELETE", maps);
  });
  const post = (name: string, more: object = {}, metadata: object = {}) =>
    api.ask("POST", maps, { body: configMap(name, more, metadata) });
  const patch = (name: string, body: object) =>
    api.ask("PATCH", `${maps}/${name}`, {
      bytes: JSON.stringify(body),
      headers: { "Content-Type": "application/merge-patch+json" },
    });
  const take = async (count: number) => {
    const events: (Json | undefined)[] = [];
    while (events.length < count) events.push(await watch?.next());
    return events;
  };

  test("without a revision begins with what there is", async () => {
    await post("a");
    watch = await api.watch(`${maps}?watch=true`);
    await post("b");
    await patch("b", { data: { x: "1" } });
    await api.ask("DELETE", `${maps}/a`);
    expect((await take(4)).map(brief)).toEqual(["ADDED a", "ADDED b", "MODIFIED b", "DELETED a"]);
  });

  test("from a list's revision shows everything after it, in order", async () => {
    await post("a");
    const list = await api.ask("GET", maps);
    await patch("a", { data: { x: "1" } });
    await post("b");
    watch = await api.watch(`${maps}?watch=true&resourceVersion=${String(list.json["metadata"]?.["resourceVersion"])}`);
    await patch("b", { data: { x: "2" } });
    const events = await take(3);
    expect(events.map(brief)).toEqual(["MODIFIED a", "ADDED b", "MODIFIED b"]);
    const revisions = events.map((event) => Number(event?.["object"]?.["metadata"]?.["resourceVersion"]));
    expect(revisions).toEqual([...revisions].sort((a, b) => a - b));
  });

  test("a deletion carries the last state under its own revision", async () => {
    const made = await post("a", { data: { x: "1" } });
    watch = await api.watch(`${maps}?watch=true`);
    await api.ask("DELETE", `${maps}/a`);
    const [, deleted] = await take(2);
    expect(deleted).toMatchObject({ type: "DELETED", object: { data: { x: "1" } } });
    expect(Number(deleted?.["object"]?.["metadata"]?.["resourceVersion"])).toBeGreaterThan(
      Number(made.json["metadata"]?.["resourceVersion"]),
    );
  });

  test("objects enter and leave a selector", async () => {
    await post("a", {}, { labels: { on: "no" } });
    watch = await api.watch(`${maps}?watch=true&labelSelector=on%3Dyes`);
    const enter = await patch("a", { metadata: { labels: { on: "yes" } } });
    await patch("a", { data: { x: "1" } });
    const leave = await patch("a", { metadata: { labels: { on: "no" } }, data: { x: "2" } });
    await patch("a", { data: { x: "3" } });
    await post("b", {}, { labels: { on: "yes" } });
    const events = await take(4);
    expect(events.map(brief)).toEqual(["ADDED a", "MODIFIED a", "DELETED a", "ADDED b"]);
    expect(events[0]?.["object"]).toEqual(enter.json);
    expect(events[2]?.["object"]).toMatchObject({
      data: { x: "1" },
      metadata: { labels: { on: "yes" }, resourceVersion: leave.json["metadata"]?.["resourceVersion"] },
    });
  });

  test("other namespaces are not seen", async () => {
    watch = await api.watch(`${maps}?watch=true`);
    await api.ask("POST", "/api/v1/namespaces/kube-public/configmaps", { body: configMap("elsewhere") });
    await post("here");
    expect((await take(1)).map(brief)).toEqual(["ADDED here"]);
  });

  test("WatchList ends the initial events with an annotated bookmark", async () => {
    await post("a");
    watch = await api.watch(
      `${maps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    const [added, bookmark] = await take(2);
    expect(brief(added)).toBe("ADDED a");
    expect(bookmark).toEqual({
      type: "BOOKMARK",
      object: {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { resourceVersion: String(api.store.revision), annotations: { "k8s.io/initial-events-end": "true" } },
      },
    });
    await post("b");
    expect((await take(1)).map(brief)).toEqual(["ADDED b"]);
  });

  test("sendInitialEvents=false shows only what is to come", async () => {
    await post("a");
    watch = await api.watch(`${maps}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`);
    await post("b");
    expect((await take(1)).map(brief)).toEqual(["ADDED b"]);
  });

  test("tables have their columns in the first event only", async () => {
    await post("a");
    watch = await api.watch(`${maps}?watch=1`, { Accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
    await post("b");
    const [first, second] = await take(2);
    expect(first).toMatchObject({
      type: "ADDED",
      object: { kind: "Table", rows: [{ cells: ["a", 0, expect.anything()] }] },
    });
    expect(first?.["object"]?.["columnDefinitions"]).toHaveLength(3);
    expect(second).toMatchObject({
      object: { columnDefinitions: null, rows: [{ object: { kind: "PartialObjectMetadata" } }] },
    });
  });

  test("partial metadata has no content", async () => {
    await post("a", { data: { key: "secret" } });
    watch = await api.watch(`${maps}?watch=1`, {
      Accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    });
    const [first] = await take(1);
    expect(first?.["object"]).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "a" } });
    expect(JSON.stringify(first)).not.toContain("secret");
  });

  test("watchers of one commit see the same bytes, whatever they selected", async () => {
    const watches = await Promise.all(
      ["", "&labelSelector=x", "&labelSelector=x", "&fieldSelector=metadata.name%3Da"].map((query) =>
        api.watch(`${maps}?watch=1${query}`),
      ),
    );
    await post("a", {}, { labels: { x: "" } });
    const seen = await Promise.all(watches.map((one) => one.next()));
    for (const event of seen) expect(event).toEqual(seen[0]);
    for (const one of watches) one.close();
  });

  test("the removal of its kind ends it after the last deletions", async () => {
    await api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", { body: widgetDefinition });
    const widgets = "/apis/demo.example.org/v1/namespaces/default/widgets";
    await api.ask("POST", widgets, { body: widget("w", { spec: {} }) });
    watch = await api.watch(`${widgets}?watch=1`);
    await api.ask("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.demo.example.org");
    expect((await take(2)).map(brief)).toEqual(["ADDED w", "DELETED w"]);
    expect(await watch.next()).toBeUndefined();
    await waitUntil(async () => (await api.ask("GET", widgets)).status === 404);
  });
});

describe("time on a watch", () => {
  test("a bookmark comes every minute and before the end", async () => {
    const clock = new FakeClock();
    const api = await startTestServer({ clock });
    const watch = await api.watch(`${maps}?watch=1&allowWatchBookmarks=true&timeoutSeconds=90`);
    await clock.advance(60_000);
    const revision = String(api.store.revision);
    const bookmark = {
      type: "BOOKMARK",
      object: { apiVersion: "v1", kind: "ConfigMap", metadata: { resourceVersion: revision } },
    };
    expect(await watch.next()).toEqual(bookmark);
    await clock.advance(30_000);
    expect(await watch.next()).toEqual(bookmark);
    expect(await watch.next()).toBeUndefined();
    await api.close();
  });

  test("without bookmarks the end is silent", async () => {
    const clock = new FakeClock();
    const api = await startTestServer({ clock });
    const watch = await api.watch(`${maps}?watch=1&timeoutSeconds=5`);
    await clock.advance(5_000);
    expect(await watch.next()).toBeUndefined();
    await api.close();
  });
});

describe("watchers that do not read", () => {
  test("are cut when their budget is spent, and the others go on", async () => {
    const api = await startTestServer({ limits: { maxWatchBufferBytes: 64 * 1024 } });
    const slow = await api.watch(`${maps}?watch=1`);
    const quick = await api.watch(`${maps}?watch=1&labelSelector=!none`);
    const seen: (string | undefined)[] = [];
    const reading = (async () => {
      for (let event = await quick.next(); event !== undefined; event = await quick.next()) seen.push(brief(event));
    })();
    // Enough to fill the sockets' own buffers and the budget after them.
    let written = 0;
    for (
      ;
      written < 200 &&
      !(await api.ask("GET", "/metrics")).text.includes('slipway_apiserver_watch_dropped_total{reason="slow"} 1');
      written++
    ) {
      await api.ask("POST", maps, { body: configMap(`big-${written}`, { data: { x: "x".repeat(500_000) } }) });
    }
    expect(written).toBeLessThan(200);
    await waitUntil(() => seen.length === written);
    const drain = async () => {
      for (;;) if ((await slow.next()) === undefined) return;
    };
    await expect(drain()).rejects.toThrow();
    quick.close();
    await reading.catch(() => undefined);
    await api.close();
  });

  test("in this process they are cut as well", async () => {
    const api = await startTestServer({ limits: { maxWatchBufferBytes: 10_000 } });
    const stop = new AbortController();
    const events = api.client.watch(ConfigMap, { namespace: "default", signal: stop.signal })[Symbol.asyncIterator]();
    const first = events.next();
    await api.ask("POST", maps, { body: configMap("first") });
    await first;
    for (let count = 0; count < 20; count++)
      await api.ask("POST", maps, { body: configMap(`big-${count}`, { data: { x: "x".repeat(5000) } }) });
    let received = 0;
    for (let next = await events.next(); next.done !== true; next = await events.next()) received += 1;
    expect(received).toBeGreaterThan(0);
    expect(received).toBeLessThan(20);
    await api.close();
  });

  test("too many watches are refused", async () => {
    const api = await startTestServer({ limits: { maxWatchesPerUser: 2 } });
    const open = [await api.watch(`${maps}?watch=1`), await api.watch(`${maps}?watch=1`)];
    const third = await api.ask("GET", `${maps}?watch=1`);
    expect(third.status).toBe(429);
    expect(third.headers["retry-after"]).toBe("1");
    open[0]?.close();
    await waitUntil(async () => {
      const again = await api.watch(`${maps}?watch=1`);
      again.close();
      return again.status === 200;
    });
    open[1]?.close();
    await api.close();
  });
});
