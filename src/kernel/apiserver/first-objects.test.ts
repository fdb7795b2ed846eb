import { expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { type KubeObject, Namespace, ServiceAccount } from "#kernel/model/index.ts";
import { createApiServer } from "./api-server.ts";
import { memoryStore } from "./store/open.ts";
import { waitUntil } from "./testing/index.ts";

const start = (store = memoryStore()) =>
  createApiServer({ store, clock: systemClock, log: silentLog, version: "test" });

/** The object with its name, and what no two objects share, taken out. */
function shapeOf(object: KubeObject, name: string): unknown {
  const unique = new Set(["uid", "resourceVersion", "creationTimestamp"]);
  const text = JSON.stringify(object, (key, value: unknown) => (unique.has(key) ? typeof value : value));
  return JSON.parse(text.replaceAll(JSON.stringify(name), '"NAME"'));
}

test("the first namespaces and their accounts look like those that are created and checked", async () => {
  const server = await start();
  const client = server.client();
  await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "made" } });
  await waitUntil(() => server.settled);
  const shapes = async (name: string) => [
    shapeOf(await client.get({ type: Namespace, name }), name),
    shapeOf(await client.get({ type: ServiceAccount, namespace: name, name: "default" }), name),
  ];
  const made = await shapes("made");
  for (const name of ["kube-system", "kube-public", "slipway-system"]) expect(await shapes(name)).toEqual(made);
  expect((await client.get({ type: Namespace, name: "default" })).metadata.name).toBe("default");
  await server.close();
});

test("a server that starts again on its store writes nothing", async () => {
  const store = memoryStore();
  const first = await start(store);
  await waitUntil(() => first.settled);
  await first.close();
  const before = store.revision;
  const second = await start(store);
  await waitUntil(() => second.settled);
  expect(store.revision).toBe(before);
  await second.close();
  await store.close();
});

test("the account of a namespace that was there is the keeper's to make again", async () => {
  const store = memoryStore();
  const first = await start(store);
  await first.client().delete({ type: ServiceAccount, namespace: "default", name: "default" });
  await waitUntil(() => first.settled);
  await first.close();
  const second = await start(store);
  const account = await second.client().get({ type: ServiceAccount, namespace: "default", name: "default" });
  expect(account.metadata.name).toBe("default");
  await second.close();
});
