import { beforeEach, expect, test } from "vitest";
import { type JsonObject, type LogFields, type Logger, silentLog } from "#lib/base/index.ts";
import { createRegistry, type KindRegistry } from "./crds/registry.ts";
import { followDefinitions } from "./served-kinds.ts";
import { memoryStore } from "./store/open.ts";
import type { Store } from "./store/store.ts";
import { widgetDefinition } from "./testing/index.ts";

let store: Store;
let registry: KindRegistry;
let errors: (LogFields | undefined)[];
const log: Logger = { ...silentLog, error: (_message, fields) => void errors.push(fields), with: () => log };
beforeEach(() => {
  store = memoryStore();
  registry = createRegistry({ now: () => 0 });
  errors = [];
});

const key = {
  group: "apiextensions.k8s.io",
  resource: "customresourcedefinitions",
  namespace: "",
  name: "widgets.demo.example.org",
};
const follow = () => followDefinitions(store, registry, log);
const isServed = () => registry.find("demo.example.org", "v1", "widgets") !== undefined;
function put(more: JsonObject = {}): Promise<unknown> {
  const crds = registry.find(key.group, "v1", key.resource) ?? expect.fail("not served");
  const prepared = crds.prepareForCreate(widgetDefinition);
  const metadata = { name: key.name, uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" };
  return store.write((transaction) => transaction.put(key, { ...prepared, metadata, ...more }));
}
const remove = () => store.write((transaction) => transaction.remove(key));

test("what is stored is served, and what comes and goes follows in the turn of its publication", async () => {
  await put();
  expect(isServed()).toBe(false);
  const following = follow();
  expect(isServed()).toBe(true);
  let seen: boolean | undefined;
  const subscription = store.subscribeAll(() => void (seen = isServed()));
  await remove();
  // Whoever hears of the change of the definition finds the registry changed.
  expect(seen).toBe(false);
  await put();
  expect(isServed()).toBe(true);
  subscription.close();
  following.close();
});

test("every change tells those who follow kinds once", async () => {
  const following = follow();
  let changes = 0;
  registry.onChange(() => void (changes += 1));
  await put();
  await remove();
  expect(changes).toBe(2);
  following.close();
});

test("a definition that cannot be served is a bug that is logged; the next change is followed all the same", async () => {
  let isBroken = true;
  const fragile: KindRegistry = Object.assign(Object.create(registry) as KindRegistry, {
    setCrd(definition: JsonObject) {
      if (isBroken) throw new Error("cannot be compiled");
      registry.setCrd(definition);
    },
  });
  const following = followDefinitions(store, fragile, log);
  await put();
  expect(errors).toMatchObject([{ name: key.name, error: expect.any(Error) }]);
  isBroken = false;
  await put({ status: {} });
  expect(errors).toHaveLength(1);
  expect(registry.find("", "v1", "pods")).toBeDefined();
  following.close();
});

test("after the end nothing follows any more", async () => {
  const following = follow();
  following.close();
  await put();
  expect(isServed()).toBe(false);
});
