import type { JsonObject } from "#lib/base/index.ts";
import { expect, test } from "vitest";
import { asJson } from "../model/read.ts";
import { addWorkflow, byUser, openOver, storeFixture } from "./testing/store-fixture.ts";

const script = (Contents: string): JsonObject => ({ Templates: [{ Name: "run", Contents }] });
const bundle = (meta: JsonObject, sections: JsonObject): JsonObject => ({
  meta: { Name: "demo", Version: "v1.2.3-beta", ...meta },
  sections,
});
const tasks = (...names: readonly string[]): JsonObject => ({
  tasks: Object.fromEntries(names.map((name) => [name, { Name: name, ...script("#!/bin/sh\n") }])),
});

test("15.31 a bundle is loaded, replaced and removed as a whole, and its objects are read-only", async () => {
  await using fixture = await storeFixture();
  const { store } = fixture;
  const sections = { ...tasks("ta", "tb"), stages: { ss: { Name: "ss", Tasks: ["tb"] } }, ux_views: { x: { Id: 1 } } };
  const summary = await store.bundles.create(bundle({}, sections), byUser, false);
  expect(summary).toMatchObject({
    Counts: { tasks: 2, stages: 1, ux_views: 1 },
    Warnings: [],
    meta: { Type: "dynamic" },
  });
  expect(store.world.get("tasks", "ta")).toMatchObject({ ReadOnly: true, Bundle: "demo", Available: true });
  const readonly = { body: { Code: 403, Messages: ["readonly: ta"] } };
  await expect(store.update("tasks", "ta", (task) => asJson(task), byUser)).rejects.toMatchObject(readonly);
  await expect(store.remove("tasks", "ta", byUser)).rejects.toMatchObject(readonly);

  await store.bundles.replace("demo", bundle({ Version: "2" }, tasks("ta", "tc")), byUser, false);
  expect(store.world.get("tasks", "tb")).toBeUndefined();
  expect(store.world.get("stages", "ss")).toBeUndefined();
  expect(store.world.get("tasks", "tc")).toBeDefined();
  expect(store.bundles.get("demo")).toMatchObject({ meta: { Version: "2" }, sections: { tasks: { ta: {}, tc: {} } } });

  await store.bundles.remove("demo", byUser);
  expect(store.world.all("tasks")).toEqual([]);
  expect(store.bundles.list().map(({ meta }) => meta["Name"])).toEqual(["BackingStore", "BasicStore"]);
  expect(fixture.eventTexts()).toEqual(["contents.create demo", "contents.update demo", "contents.delete demo"]);
});

test("15.31 a bundle that is refused leaves everything as it was", async () => {
  await using fixture = await storeFixture();
  const { store } = fixture;
  await store.bundles.create(bundle({}, tasks("ta")), byUser, false);
  const broken = bundle({}, { tasks: { "bad/name": script("x"), tb: { Name: "tb", Prerequisites: ["none"] } } });
  await expect(store.bundles.replace("demo", broken, byUser, false)).rejects.toMatchObject({ body: { Code: 422 } });
  expect(store.world.all("tasks").map(({ Name }) => Name)).toEqual(["ta"]);
});

test("12 dangling references of a bundle are warnings, and its stage is not available until they are there", async () => {
  await using fixture = await storeFixture();
  const { store } = fixture;
  const sections = { stages: { ss: { Name: "ss", Tasks: ["later"] } } };
  const { Warnings } = await store.bundles.create(bundle({}, sections), byUser, false);
  expect(Warnings).toEqual(["stages:ss: Task later (at 0) does not exist"]);
  expect(store.world.get("stages", "ss")?.Available).toBe(false);
  await store.create("tasks", { Name: "later" }, byUser);
  expect(store.world.get("stages", "ss")).toMatchObject({ Available: true, ReadOnly: true });
});

test("12 a bundle replaces writable objects only on request, and may override built-in ones", async () => {
  await using fixture = await storeFixture();
  const { store, client } = fixture;
  await store.create("tasks", { Name: "mine", Description: "writable" }, byUser);
  const sections = { ...tasks("mine"), stages: { local: { Name: "local", Description: "other" } } };
  await expect(store.bundles.create(bundle({}, sections), byUser, false)).rejects.toMatchObject({
    body: { Messages: ["tasks:mine in layer dynamic-demo would override layer writable-BackingStore"] },
  });
  await store.bundles.create(bundle({}, sections), byUser, true);
  expect(store.world.get("tasks", "mine")).toMatchObject({ Bundle: "demo", Description: "" });
  expect(store.world.get("stages", "local")).toMatchObject({ Bundle: "demo", Description: "other" });
  await store.close();

  const again = await openOver(client);
  expect(again.world.get("tasks", "mine")?.Bundle).toBe("demo");
  await again.bundles.remove("demo", byUser);
  expect(again.world.get("tasks", "mine")).toBeUndefined();
  expect(again.world.get("stages", "local")?.Bundle).toBe("BasicStore");
  await again.close();
});

test.each([
  ["no name", { Name: undefined }, "Store at content- has no Name metadata"],
  [
    "a feature",
    { RequiredFeatures: "workflows, TIME-travel" },
    "Content layer demo requires feature TIME-travel, but dr-provision does not provide it",
  ],
  ["a missing bundle", { Prerequisites: "other" }, "Layer demo has other as a prerequisite, but other does not exist!"],
  ["a version", { Prerequisites: "BasicStore: >=4.9" }, "Layer demo prerequisite test on BasicStore failed"],
  ["its own version", { Version: "one" }, "Layer demo has an invalid version one"],
])("15.32 a bundle is refused for %s", async (_what, meta, message) => {
  await using fixture = await storeFixture({ features: ["workflows"] });
  const refused = fixture.store.bundles.create(bundle(meta, tasks("ta")), byUser, false);
  await expect(refused).rejects.toMatchObject({ body: { Code: 422, Messages: [message] } });
  expect(fixture.store.world.all("tasks")).toEqual([]);
});

test("15.32 a bundle that others require stays, as does one with a task that another needs", async () => {
  await using fixture = await storeFixture();
  const { store } = fixture;
  await store.bundles.create(bundle({}, tasks("first")), byUser, false);
  const needing = { meta: { Name: "more", Prerequisites: "demo:>=1.0 <2 || ==5, BasicStore:>=4.6.0" }, sections: {} };
  await store.bundles.create(needing, byUser, false);
  await expect(store.bundles.remove("demo", byUser)).rejects.toMatchObject({
    body: { Messages: ["Layer more has demo as a prerequisite, but demo does not exist!"] },
  });
  await store.bundles.remove("more", byUser);
  await store.create("tasks", { Name: "second", Prerequisites: ["first"] }, byUser);
  await expect(store.bundles.remove("demo", byUser)).rejects.toMatchObject({
    body: { Messages: ["Task second missing prerequisite first"] },
  });
});

test("12 names and duplicates: 409 for a present one, 404 for an unknown one, 400 for another name", async () => {
  await using fixture = await storeFixture();
  const { store } = fixture;
  await addWorkflow(store);
  await store.bundles.create(bundle({}, tasks("own")), byUser, false);
  const code = (Code: number) => ({ body: { Code } });
  await expect(store.bundles.create(bundle({}, {}), byUser, false)).rejects.toMatchObject(code(409));
  await expect(store.bundles.create(bundle({ Name: "BasicStore" }, {}), byUser, false)).rejects.toMatchObject(
    code(409),
  );
  await expect(store.bundles.replace("none", bundle({}, {}), byUser, false)).rejects.toMatchObject(code(404));
  await expect(store.bundles.replace("demo", bundle({ Name: "b" }, {}), byUser, false)).rejects.toMatchObject(
    code(400),
  );
  await expect(store.bundles.remove("none", byUser)).rejects.toMatchObject(code(404));
});
