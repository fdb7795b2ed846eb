import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, type JsonObject, silentLog } from "#lib/base/index.ts";
import type { ApiClient, DeleteOptions } from "#kernel/kit/index.ts";
import { ConfigMap, Job, Namespace, type OwnerReference, Pod, type Stored } from "#kernel/model/index.ts";
import { type ApiServer, createApiServer } from "../api-server.ts";
import { memoryStore } from "../store/open.ts";
import type { Store, StoreEvent } from "../store/store.ts";
import { withMetadata } from "../verbs/metadata.ts";
import { configMap, pod, waitUntil, widgetDefinition } from "../testing/index.ts";

let clock: FakeClock;
let store: Store;
let server: ApiServer;
let client: ApiClient;
/** Names of removed objects, in order. */
let removed: string[];
beforeEach(async () => {
  clock = new FakeClock();
  store = memoryStore({ clock });
  removed = [];
  store.subscribeAll((events: readonly StoreEvent[]) => {
    for (const { type, entry } of events) if (type === "delete") removed.push(entry.key.name);
  });
  await start();
});
afterEach(async () => {
  await server.close();
  await store.close();
});
async function start(): Promise<void> {
  server = await createApiServer({ store, clock, log: silentLog, version: "0.0.0" });
  client = server.client();
}

const blocking = { blockOwnerDeletion: true };
const reference = ({ apiVersion, kind, metadata }: Stored, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
  ...more,
});
const create = (name: string, ownerReferences: readonly OwnerReference[] = [], more: object = {}) =>
  client.create(
    ConfigMap,
    configMap(
      name,
      {},
      { namespace: "default", ...(ownerReferences.length === 0 ? {} : { ownerReferences }), ...more },
    ),
  );
const ref = (name: string) => ({ type: ConfigMap, namespace: "default", name });
const remove = (name: string, propagationPolicy?: DeleteOptions["propagationPolicy"]) =>
  client.delete(ref(name), propagationPolicy === undefined ? {} : { propagationPolicy });
const get = (name: string) => client.get(ref(name));
const patch = (name: string, metadata: object) =>
  client.patch(ref(name), { type: "merge", body: { metadata } as JsonObject });
const exists = (name: string) =>
  store.get({ group: "", resource: "configmaps", namespace: "default", name }) !== undefined;
const settled = () => waitUntil(() => server.settled);
const held = { finalizers: ["example.org/wait"] };

/** Three levels: a root, two children, a grandchild of each. */
async function tree(more: Partial<OwnerReference> = {}): Promise<void> {
  const root = await create("root");
  for (const side of ["left", "right"]) {
    const child = await create(side, [reference(root, more)]);
    await create(`${side}-leaf`, [reference(child, more)]);
  }
}

describe("a tree of three levels", () => {
  test("in the background goes after its root", async () => {
    await tree(blocking);
    await remove("root", "Background");
    expect(exists("root")).toBe(false);
    await settled();
    expect(removed[0]).toBe("root");
    expect([...removed].sort()).toEqual(["left", "left-leaf", "right", "right-leaf", "root"]);
  });

  test("in the foreground goes before its root, leaves first", async () => {
    await tree(blocking);
    const answer = await remove("root", "Foreground");
    expect(answer).toMatchObject({
      kind: "ConfigMap",
      metadata: { finalizers: ["foregroundDeletion"], deletionGracePeriodSeconds: 0 },
    });
    await settled();
    expect(removed).toHaveLength(5);
    expect(removed.at(-1)).toBe("root");
    for (const side of ["left", "right"]) expect(removed.indexOf(`${side}-leaf`)).toBeLessThan(removed.indexOf(side));
  });

  test("without blockOwnerDeletion does not hold up its root in the foreground, and goes all the same", async () => {
    await tree();
    await remove("root", "Foreground");
    await settled();
    expect([...removed].sort()).toEqual(["left", "left-leaf", "right", "right-leaf", "root"]);
  });

  test("that is orphaned stays, and its first level has no owner any more", async () => {
    await tree(blocking);
    const answer = await remove("root", "Orphan");
    expect(answer).toMatchObject({ metadata: { finalizers: ["orphan"] } });
    await settled();
    expect(removed).toEqual(["root"]);
    expect((await get("left")).metadata.ownerReferences).toBeUndefined();
    expect((await get("left-leaf")).metadata.ownerReferences).toHaveLength(1);
  });
});

describe("in the foreground", () => {
  test("a dependant with a finalizer holds up its owner as long as it is there", async () => {
    const root = await create("root");
    await create("held", [reference(root, blocking)], held);
    await remove("root", "Foreground");
    await settled();
    expect((await get("held")).metadata.deletionTimestamp).toBeDefined();
    expect(exists("root")).toBe(true);
    await patch("held", { finalizers: null });
    await settled();
    expect(removed).toEqual(["held", "root"]);
  });

  test("a dependant that does not block any more lets its owner go", async () => {
    const root = await create("root");
    await create("held", [reference(root, blocking)], held);
    await remove("root", "Foreground");
    await settled();
    await patch("held", { ownerReferences: [{ ...reference(root), blockOwnerDeletion: false }] });
    await settled();
    expect(removed).toEqual(["root"]);
  });

  test("a dependant that loses its reference lets its owner go, and stays", async () => {
    const root = await create("root");
    await create("held", [reference(root, blocking)], held);
    await remove("root", "Foreground");
    await patch("held", { ownerReferences: null });
    await settled();
    expect(removed).toEqual(["root"]);
  });

  test("a dependant with another owner alive forgets the one that goes", async () => {
    const [root, other] = [await create("root"), await create("other")];
    await create("shared", [reference(root, blocking), reference(other, blocking)]);
    await remove("root", "Foreground");
    await settled();
    expect(removed).toEqual(["root"]);
    expect((await get("shared")).metadata.ownerReferences).toEqual([reference(other, blocking)]);
  });

  test("a dependant that is made meanwhile goes too", async () => {
    const root = await create("root");
    await create("held", [reference(root, blocking)], held);
    await remove("root", "Foreground");
    await settled();
    await create("late", [reference(root, blocking)]);
    await settled();
    expect(removed).toEqual(["late"]);
    await patch("held", { finalizers: null });
    await settled();
    expect(removed).toEqual(["late", "held", "root"]);
  });

  test("an object without dependants goes at once", async () => {
    await create("alone");
    await remove("alone", "Foreground");
    await settled();
    expect(removed).toEqual(["alone"]);
  });

  test("objects of other namespaces hold up nobody", async () => {
    const root = await create("root");
    await client.create(
      ConfigMap,
      configMap("far", {}, { namespace: "kube-public", ownerReferences: [reference(root, blocking)] }),
    );
    await remove("root", "Foreground");
    await settled();
    expect(removed[0]).toBe("root");
  });

  test.each([1, 2, 3, 5])("a ring of %i that blocks itself goes whole", async (size) => {
    const members: Stored[] = [];
    for (let at = 0; at < size; at++) {
      const before = members.at(-1);
      members.push(await create(`m${at}`, before === undefined ? [] : [reference(before, blocking)]));
    }
    const last = members.at(-1);
    if (last !== undefined) await patch("m0", { ownerReferences: [{ ...reference(last, blocking) }] });
    await settled();
    await remove("m0", "Foreground");
    await settled();
    expect([...removed].sort()).toEqual(members.map(({ metadata }) => metadata.name));
  });

  test("what was under way goes on after a restart", async () => {
    const root = await create("root");
    await create("held", [reference(root, blocking)], held);
    await create("other", [reference(root, blocking)]);
    await remove("root", "Foreground");
    await server.close();
    await start();
    await settled();
    await patch("held", { finalizers: null });
    await settled();
    expect([...removed].sort()).toEqual(["held", "other", "root"]);
    expect(removed.at(-1)).toBe("root");
  });

  test("over many dependants", async () => {
    const root = await create("root");
    await Promise.all(Array.from({ length: 700 }, (_, at) => create(`d${at}`, [reference(root, blocking)])));
    await remove("root", "Foreground");
    await settled();
    expect(removed).toHaveLength(701);
    expect(removed.at(-1)).toBe("root");
  });
});

describe("orphaning", () => {
  test("over many dependants, of which some are on their way out", async () => {
    const root = await create("root");
    await Promise.all(
      Array.from({ length: 600 }, (_, at) => create(`d${at}`, [reference(root)], at % 100 === 0 ? held : {})),
    );
    await remove("d0");
    await remove("root", "Orphan");
    await settled();
    expect(removed).toEqual(["root"]);
    expect((await get("d0")).metadata.ownerReferences).toBeUndefined();
    expect((await get("d599")).metadata.ownerReferences).toBeUndefined();
  });

  test("goes on after a restart", async () => {
    const root = await create("root", [], held);
    await create("kept", [reference(root)]);
    await server.close();
    await store.write((transaction) => {
      const entry = transaction.head({ group: "", resource: "configmaps", namespace: "default", name: "root" });
      if (entry === undefined) throw new Error("the root is gone");
      const deletionTimestamp = "2026-01-01T00:00:00Z";
      const changes = { deletionTimestamp, deletionGracePeriodSeconds: 0, finalizers: ["orphan"] };
      transaction.put(entry.key, withMetadata(entry.object(), changes));
    });
    await start();
    await settled();
    expect(removed).toEqual(["root"]);
    expect(exists("kept")).toBe(true);
  });
});

describe("which policy counts", () => {
  test("a finalizer of the object, when the request says nothing", async () => {
    const root = await create("root", [], { finalizers: ["orphan"] });
    await create("child", [reference(root)]);
    await remove("root");
    await settled();
    expect(removed).toEqual(["root"]);
  });

  test("the request's, whatever the object has", async () => {
    const root = await create("root", [], { finalizers: ["orphan", "example.org/wait"] });
    await create("child", [reference(root, blocking)]);
    const answer = await remove("root", "Foreground");
    expect(answer).toMatchObject({ metadata: { finalizers: ["example.org/wait", "foregroundDeletion"] } });
    await settled();
    expect(removed).toEqual(["child"]);
  });

  test("the last, of several deletions of one object", async () => {
    const root = await create("root");
    await create("child", [reference(root, blocking)], held);
    await remove("root", "Foreground");
    await settled();
    await remove("root", "Background");
    expect(removed).toEqual(["root"]);
  });

  test("orphaning for a Job, with a warning, and for its Pods in the background when that is said", async () => {
    const job = (name: string) => ({
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name, namespace: "default" },
      spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } } },
    });
    for (const name of ["first", "second"]) {
      const made = await client.create(Job, job(name));
      await client.create(
        Pod,
        pod(`of-${name}`, { namespace: "default", ownerReferences: [reference(made, blocking)] }),
      );
    }
    await client.delete({ type: Job, namespace: "default", name: "first" });
    await client.delete({ type: Job, namespace: "default", name: "second" }, { propagationPolicy: "Background" });
    await settled();
    expect([...removed].sort()).toEqual(["first", "of-second", "second"]);
  });

  test("none for Events, which own nothing", async () => {
    const event = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "told", namespace: "default" },
      involvedObject: { kind: "Pod", namespace: "default", name: "p" },
    };
    const type = { ...ConfigMap, kind: "Event", plural: "events" };
    await client.create(type, event);
    await client.delete({ type, namespace: "default", name: "told" }, { propagationPolicy: "Foreground" });
    expect(removed).toEqual(["told"]);
  });

  test("background for the content of a namespace", async () => {
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
    await client.create(ConfigMap, configMap("a", {}, { namespace: "team" }));
    await client.delete({ type: Namespace, name: "team" }, { propagationPolicy: "Foreground" });
    await settled();
    expect(removed.at(-1)).toBe("team");
  });

  test("both finalizers at once are refused", async () => {
    await expect(create("both", [], { finalizers: ["orphan", "foregroundDeletion"] })).rejects.toThrow(
      /orphan and foregroundDeletion cannot both be set/,
    );
  });
});

describe("an owner of a kind that nobody serves", () => {
  const gadget = {
    apiVersion: "demo.example.org/v9",
    kind: "Gadget",
    name: "g",
    uid: "6f0b2f3e-0000-4000-8000-000000000001",
  };

  test("keeps its dependants for half a minute", async () => {
    await create("child", [gadget]);
    await settled();
    await clock.advance(29_000);
    await settled();
    expect(exists("child")).toBe(true);
    await clock.advance(1_000);
    await settled();
    expect(exists("child")).toBe(false);
  });

  test("counts from the last change of the kinds", async () => {
    await create("child", [gadget]);
    await clock.advance(29_000);
    const type = {
      group: "apiextensions.k8s.io",
      version: "v1",
      kind: "CustomResourceDefinition",
      plural: "customresourcedefinitions",
      namespaced: false,
    };
    await client.create(type, widgetDefinition);
    await clock.advance(29_000);
    await settled();
    expect(exists("child")).toBe(true);
    await clock.advance(1_000);
    await settled();
    expect(exists("child")).toBe(false);
  });

  test("means nothing once the kinds are long settled", async () => {
    await clock.advance(30_000);
    await create("child", [gadget]);
    await settled();
    expect(exists("child")).toBe(false);
  });
});
