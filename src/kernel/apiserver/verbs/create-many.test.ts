import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { type ApiClient, eventRecorder, regardingOf } from "#kernel/kit/index.ts";
import { ConfigMap, CoreEvent, Event, type KubeObject, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { type ApiServer, createApiServer } from "../api-server.ts";
import { memoryStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";
import { configMap } from "../testing/index.ts";

let store: Store;
let server: ApiServer;
let client: ApiClient;
beforeEach(async () => {
  store = memoryStore();
  server = await createApiServer({ store, clock: new FakeClock(), log: silentLog, version: "test" });
  client = server.client();
  await client.create(ConfigMap, inDefault("there"));
});
afterEach(async () => {
  await server.close();
  await store.close();
});

const inDefault = (name: string, more: object = {}) => configMap(name, more, { namespace: "default" });
const many = (objects: readonly KubeObject[], type: ResourceType = ConfigMap, options = {}) =>
  client.createMany?.(type, objects, options);
const names = async () =>
  (await client.list(ConfigMap, { namespace: "default" })).items.map(({ metadata }) => metadata.name);

describe("creating many objects", () => {
  test("stores all of them in one commit", async () => {
    const { commits } = store.stats();
    await many(Array.from({ length: 50 }, (_, index) => inDefault(`made-${index}`)));
    expect(store.stats().commits).toBe(commits + 1);
    expect(await names()).toHaveLength(51);
  });

  test("none at all is no write", async () => {
    const { revision } = store;
    await many([]);
    expect(store.revision).toBe(revision);
  });

  test.each([
    ["a wrong one", [inDefault("a"), inDefault("B"), inDefault("c")], "Invalid"],
    ["one that is there", [inDefault("a"), inDefault("there")], "AlreadyExists"],
    ["the same twice", [inDefault("a"), inDefault("a")], "AlreadyExists"],
    [
      "one too large",
      [inDefault("a"), inDefault("b", { data: { x: "\u0001".repeat(1_000_000) } })],
      "RequestEntityTooLarge",
    ],
    ["one in no namespace", [inDefault("a"), configMap("b")], "BadRequest"],
    ["one in a namespace that is not there", [inDefault("a"), configMap("b", {}, { namespace: "no" })], "NotFound"],
  ])("%s leaves none of them", async (_what, objects, reason) => {
    const before = await names();
    await expect(many(objects)).rejects.toMatchObject({ reason });
    expect(await names()).toEqual(before);
  });

  test("a dry run stores nothing", async () => {
    const before = await names();
    await many([inDefault("a")], ConfigMap, { dryRun: true });
    expect(await names()).toEqual(before);
  });
});

test("events that a recorder writes together are stored as if each had been created by a request", async () => {
  const clock = new FakeClock();
  const told = await client.create(ConfigMap, inDefault("told"));
  const record = async (through: ApiClient): Promise<readonly string[]> => {
    const recorder = eventRecorder({
      client: through,
      clock,
      log: silentLog,
      controller: "slipway.dev/x",
      instance: "0",
    });
    for (const reason of ["Started", "Ended", "Ended"])
      recorder.record({
        regarding: regardingOf(told),
        type: "Normal",
        reason,
        action: "Run",
        note: `it has ${reason}`,
      });
    recorder.record({
      regarding: { kind: "Node", name: "n" },
      type: "Warning",
      reason: "Odd",
      action: "Look",
      note: "",
    });
    await recorder.flush();
    const { items } = await client.list<Stored>(Event);
    const bytes = store.page({ group: "", resource: "events" }, {}).entries.map((entry) => entry.bytes.toString());
    await client.deleteCollection(Event, { namespace: "default" });
    expect(items).toHaveLength(3);
    return bytes.map((text) => text.replaceAll(/"(uid|resourceVersion|name)":"[^"]*"/g, '"$1":"…"'));
  };
  expect(await record(client)).toEqual(await record(oneByOne(client)));
  expect((await client.list(CoreEvent)).items).toEqual([]);
});

/** The client without its way to create many. */
const oneByOne = (of: ApiClient): ApiClient =>
  Object.assign(Object.create(of) as ApiClient, {
    createMany: undefined,
    create: of.create.bind(of),
    patch: of.patch.bind(of),
  });
