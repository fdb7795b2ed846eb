import { afterEach, beforeEach, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Store } from "../store/store.ts";
import { type TestContext, testContext } from "../testing/index.ts";
import { deleteContent } from "./content.ts";

let context: TestContext;
let store: Store;
let configMaps: ServedResource;
beforeEach(() => {
  context = testContext();
  store = context.store;
  configMaps = context.served("configmaps");
});
afterEach(() => store.close());

const put = (namespace: string, name: string, more: JsonObject = {}): Promise<unknown> =>
  context.put("configmaps", { kind: "ConfigMap", metadata: { name, namespace, ...more } });
const count = (namespace?: string) => store.count({ group: "", resource: "configmaps" }, namespace);

test("everything of a kind goes from one namespace, over many pages, and others keep theirs", async () => {
  await Promise.all(Array.from({ length: 1203 }, (_, at) => put("a", `c${at}`)));
  await put("b", "stays");
  expect(await deleteContent(context, configMaps, "a")).toEqual({ objects: 0, finalizers: new Map() });
  expect([count("a"), count("b")]).toEqual([0, 1]);
});

test("without a namespace it goes from all", async () => {
  await put("a", "x");
  await put("b", "y");
  expect(await deleteContent(context, configMaps)).toEqual({ objects: 0, finalizers: new Map() });
  expect(count()).toBe(0);
});

test("what finalizers hold is counted, by finalizer", async () => {
  await put("a", "free");
  await put("a", "one", { finalizers: ["example.org/x"] });
  await put("a", "two", { finalizers: ["example.org/x", "example.org/y"] });
  expect(await deleteContent(context, configMaps, "a")).toEqual({
    objects: 2,
    finalizers: new Map([
      ["example.org/x", 2],
      ["example.org/y", 1],
    ]),
  });
  const one = store.get({ group: "", resource: "configmaps", namespace: "a", name: "one" });
  expect(one?.object()["metadata"]).toHaveProperty("deletionTimestamp");
});

test("a second pass asks nobody twice", async () => {
  await put("a", "held", { finalizers: ["example.org/x"] });
  await deleteContent(context, configMaps, "a");
  const { revision } = store;
  await deleteContent(context, configMaps, "a");
  expect(store.revision).toBe(revision);
});

test("what is removed or replaced by somebody else meanwhile is no failure", async () => {
  await put("a", "gone");
  await put("a", "again");
  const deletion = deleteContent(context, configMaps, "a");
  // Both are judged by the uid they had when the pass began.
  await store.write((transaction) => {
    for (const name of ["gone", "again"]) {
      const key = { group: "", resource: "configmaps", namespace: "a", name };
      if (transaction.head(key) !== undefined) transaction.remove(key);
    }
  });
  await put("a", "again", { uid: "another" });
  const { objects } = await deletion;
  expect(objects).toBeLessThanOrEqual(1);
  expect(count("a")).toBeLessThanOrEqual(1);
});

test("nothing is there, nothing is done", async () => {
  expect(await deleteContent(context, configMaps, "none")).toEqual({ objects: 0, finalizers: new Map() });
  expect(store.revision).toBe(0);
});
