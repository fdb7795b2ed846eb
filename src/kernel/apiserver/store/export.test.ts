import { expect, test } from "vitest";
import { type JsonObject, isJsonObject } from "#lib/base/index.ts";
import { exportObjects } from "./export.ts";
import { memoryStore } from "./open.ts";
import type { Collection, Store } from "./store.ts";
import { items, keyOf, objectOf, pods, putItem } from "./testing/store-objects.ts";

const owner = (name: string): JsonObject => ({ apiVersion: "v1", kind: "Item", name, uid: `uid-default-${name}` });

async function add(store: Store, name: string, owners: readonly string[] = [], collection = items): Promise<void> {
  const key = keyOf(name, "default", collection);
  const object = objectOf(key, 1, { ownerReferences: owners.map(owner) });
  await store.write((transaction) => transaction.put(key, object));
}

async function addClusterScoped(store: Store, name: string, collection: Collection): Promise<void> {
  const key = keyOf(name, "", collection);
  await store.write((transaction) => transaction.put(key, objectOf(key)));
}

const exported = (store: Store): readonly unknown[] =>
  exportObjects(store).map(({ metadata }) => (isJsonObject(metadata) ? metadata["name"] : undefined));

test("namespaces and definitions come first, then the rest by group, resource and name", async () => {
  const store = memoryStore();
  await putItem(store, "b");
  await putItem(store, "a");
  await add(store, "pod", [], pods);
  const definitions = { group: "apiextensions.k8s.io", resource: "customresourcedefinitions" };
  await addClusterScoped(store, "items.test.slipway.dev", definitions);
  await addClusterScoped(store, "default", { group: "", resource: "namespaces" });
  expect(exported(store)).toEqual(["default", "items.test.slipway.dev", "pod", "a", "b"]);
  await store.close();
});

test("owners come before what they own, across collections and through several steps", async () => {
  const store = memoryStore();
  await add(store, "a-leaf", ["m-middle"], pods);
  await add(store, "m-middle", ["z-root", "unknown"]);
  await add(store, "z-root");
  expect(exported(store)).toEqual(["z-root", "m-middle", "a-leaf"]);
  await store.close();
});

test("objects that own each other or themselves come once each", async () => {
  const store = memoryStore();
  await add(store, "a", ["b"]);
  await add(store, "b", ["c", "b"]);
  await add(store, "c", ["a"]);
  expect([...exported(store)].map(String).sort()).toEqual(["a", "b", "c"]);
  await store.close();
});

test("a chain of owners may be longer than the call stack", async () => {
  const store = memoryStore();
  const length = 20_000;
  await store.write((transaction) => {
    for (let index = 0; index < length; index++) {
      const key = keyOf(`n${index}`);
      transaction.put(key, objectOf(key, 1, { ownerReferences: [owner(`n${index + 1}`)] }));
    }
  });
  expect(exported(store).at(0)).toBe(`n${length - 1}`);
  await store.close();
});
