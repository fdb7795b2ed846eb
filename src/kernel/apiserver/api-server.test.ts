import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type JsonObject, silentLog, systemClock } from "#lib/base/index.ts";
import type { ApiClient, WatchEvent } from "#kernel/kit/index.ts";
import { ConfigMap, isNotFound, type KubeObject, Pod } from "#kernel/model/index.ts";
import { type ApiServer, createApiServer } from "./api-server.ts";
import { memoryStore } from "./store/open.ts";
import type { Store } from "./store/store.ts";
import { configMap, pod, startTestServer, widget, widgetDefinition } from "./testing/index.ts";
import { frozenCopy } from "./verbs/frozen-copy.ts";

const isDeepFrozen = (value: unknown): boolean =>
  typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen));

describe("the client of this process", () => {
  let store: Store;
  let server: ApiServer;
  let client: ApiClient;
  beforeEach(async () => {
    store = memoryStore();
    server = await createApiServer({ store, clock: systemClock, log: silentLog, version: "1.2.3" });
    client = server.client();
  });
  afterEach(async () => {
    await server.close();
    await store.close();
  });
  const made = () => client.create(ConfigMap, configMap("a", { data: { x: "1" } }, { namespace: "default" }));

  test("returns frozen objects and shares them", async () => {
    const created = await made();
    const read = await client.get({ type: ConfigMap, namespace: "default", name: "a" });
    const [listed] = (await client.list(ConfigMap, { namespace: "default" })).items;
    expect(isDeepFrozen(created)).toBe(true);
    expect(read).toBe(await client.get({ type: ConfigMap, namespace: "default", name: "a" }));
    expect(listed).toBe(read);
  });

  test("is not affected by what its caller does to the object afterwards", async () => {
    const mine = { ...configMap("mine", {}, { namespace: "default" }), data: { x: "1" } };
    await client.create(ConfigMap, mine);
    mine.data.x = "changed";
    const read = await client.get<KubeObject & { data?: object }>({
      type: ConfigMap,
      namespace: "default",
      name: "mine",
    });
    expect(read.data).toEqual({ x: "1" });
    expect(Object.isFrozen(mine)).toBe(false);
  });

  test("leaves out members that are undefined and refuses what JSON cannot hold", async () => {
    const odd = { ...configMap("odd", {}, { namespace: "default" }), data: { x: undefined, y: "1" } };
    const created = await client.create<KubeObject & { data: object }>(ConfigMap, odd);
    expect(Object.keys(created.data)).toEqual(["y"]);
    expect(() => frozenCopy({ x: Number.NaN })).toThrow(TypeError);
    expect(() => frozenCopy({ x: () => 1 })).toThrow(TypeError);
  });

  test("watches from now, without losing what is written in between", async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    const { resourceVersion } = (await client.list(ConfigMap)).metadata;
    await made();
    for await (const event of client.watch(ConfigMap, { namespace: "default", resourceVersion, signal: stop.signal })) {
      seen.push(`${event.type} ${event.object.metadata.name ?? ""}`);
      if (event.type === "ADDED") await client.delete({ type: ConfigMap, namespace: "default", name: "a" });
      if (event.type === "DELETED") stop.abort();
    }
    expect(seen).toEqual(["ADDED a", "DELETED a"]);
  });

  test("a watch whose signal aborts returns, also while it waits", async () => {
    const stop = new AbortController();
    const events = client.watch(ConfigMap, { namespace: "none", signal: stop.signal })[Symbol.asyncIterator]();
    const waiting: Promise<IteratorResult<WatchEvent, unknown>> = events.next();
    stop.abort();
    expect((await waiting).done).toBe(true);
  });

  test("answers raw paths without a listener", async () => {
    await made();
    expect(JSON.parse(await client.raw("/version"))).toMatchObject({ gitVersion: "v1.33.0+slipway.1.2.3" });
    expect(await client.raw("/readyz")).toBe("ok");
    expect(JSON.parse(await client.raw("/apis/batch/v1"))).toMatchObject({ kind: "APIResourceList" });
    expect(JSON.parse(await client.raw("/api/v1/namespaces/default/configmaps/a"))).toMatchObject({ data: { x: "1" } });
    expect(JSON.parse(await client.raw("/api/v1/configmaps?labelSelector=none"))).toMatchObject({
      kind: "ConfigMapList",
      items: [],
    });
    await expect(client.raw("/none")).rejects.toSatisfy(isNotFound);
  });

  test("answers raw paths in the form that is asked for", async () => {
    await made();
    const accept = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";
    const table = async (path: string) => JSON.parse(await client.raw(path, { accept }));
    const row = { cells: expect.arrayContaining(["a"]), object: { kind: "PartialObjectMetadata" } };
    expect(await table("/api/v1/namespaces/default/configmaps/a")).toMatchObject({ kind: "Table", rows: [row] });
    expect(await table("/api/v1/namespaces/default/configmaps")).toMatchObject({
      kind: "Table",
      columnDefinitions: [{ name: "Name" }, {}, {}],
      rows: expect.arrayContaining([expect.objectContaining({ cells: row.cells })]),
    });
    await expect(client.raw("/api/v1/configmaps", { accept: "text/html" })).rejects.toMatchObject({ code: 406 });
  });

  test("refuses what HTTP refuses", async () => {
    const nowhere = configMap("a");
    await expect(client.create(ConfigMap, nowhere)).rejects.toMatchObject({ code: 400 });
    await expect(
      client.create(ConfigMap, { ...nowhere, metadata: { name: "A", namespace: "default" } }),
    ).rejects.toMatchObject({ code: 422 });
    await expect(client.get({ type: { ...ConfigMap, plural: "things" }, name: "a" })).rejects.toMatchObject({
      code: 404,
    });
    await expect(
      client.patch({ type: ConfigMap, namespace: "default", name: "none" }, { type: "merge", body: {} }),
    ).rejects.toMatchObject({ code: 404 });
    await expect(server.client({ user: "eve", groups: [] }).list(Pod)).rejects.toMatchObject({ code: 403 });
  });

  test("deletes collections and tells what was removed", async () => {
    await made();
    const status = await client.delete({ type: ConfigMap, namespace: "default", name: "a" });
    expect(status).toMatchObject({ kind: "Status", status: "Success" });
    await client.create(Pod, pod("p", { namespace: "default" }));
    await client.deleteCollection(Pod, { namespace: "default" });
    expect((await client.list(Pod)).items).toEqual([]);
  });
});

describe("both ways in", () => {
  test("see each other's writes at once, in the same form", async () => {
    const api = await startTestServer();
    const created = await api.client.create(ConfigMap, configMap("both", {}, { namespace: "default" }));
    const found = await api.ask("GET", "/api/v1/namespaces/default/configmaps/both");
    expect(found.json).toEqual(created);
    await api.ask("DELETE", "/api/v1/namespaces/default/configmaps/both");
    await expect(api.client.get({ type: ConfigMap, namespace: "default", name: "both" })).rejects.toSatisfy(isNotFound);
    await api.close();
  });

  test("a kind is served as soon as its definition is answered", async () => {
    const api = await startTestServer();
    const made = await api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      body: widgetDefinition,
    });
    expect(made.json["status"]).toMatchObject({ acceptedNames: { plural: "widgets" } });
    const conditions = (made.json["status"] as unknown as { conditions: JsonObject[] }).conditions;
    expect(conditions).toEqual(
      expect.arrayContaining([expect.objectContaining({ type: "Established", status: "True" })]),
    );
    const first = await api.ask("POST", "/apis/demo.example.org/v1/namespaces/default/widgets", {
      body: widget("w", { spec: {} }),
    });
    expect(first.status).toBe(201);
    const discovered = await api.ask("GET", "/apis/demo.example.org/v1");
    expect(discovered.text).toContain("widgets/status");
    const openapi = await api.ask("GET", "/openapi/v3");
    expect(openapi.text).toContain("apis/demo.example.org/v1");
    await api.close();
  });
});
