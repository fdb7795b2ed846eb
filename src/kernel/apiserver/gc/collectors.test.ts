import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import {
  ConfigMap,
  CoreEvent,
  type KubeObject,
  Namespace,
  type OwnerReference,
  Pod,
  ServiceAccount,
  type Stored,
} from "#kernel/model/index.ts";
import { type ApiServer, createApiServer } from "../api-server.ts";
import { memoryStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";
import { configMap, pod, waitUntil, widget, widgetDefinition } from "../testing/index.ts";

let clock: FakeClock;
let store: Store;
let server: ApiServer;
let client: ApiClient;
const start = async (rootCertificate = "PEM") => {
  server = await createApiServer({ store, clock, log: silentLog, version: "0.0.0", rootCertificate });
  client = server.client();
};
beforeEach(async () => {
  clock = new FakeClock();
  store = memoryStore({ clock });
  await start();
});
afterEach(async () => {
  await server.close();
  await store.close();
});

const inDefault = (name: string, metadata: object = {}) => configMap(name, {}, { namespace: "default", ...metadata });
const ownerOf = (owner: Stored): OwnerReference => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid,
});
const ghost: OwnerReference = {
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "ghost",
  uid: "00000000-0000-4000-8000-000000000000",
};
const create = (name: string, metadata: object = {}) => client.create(ConfigMap, inDefault(name, metadata));
const exists = (name: string) =>
  store.get({ group: "", resource: "configmaps", namespace: "default", name }) !== undefined;
const settled = () => waitUntil(() => server.settled);

describe("owners", () => {
  test("a tree goes with its root", async () => {
    const root = await create("root");
    const child = await create("child", { ownerReferences: [ownerOf(root)] });
    await create("grandchild", { ownerReferences: [ownerOf(child)] });
    await create("stranger");
    await client.delete({ type: ConfigMap, namespace: "default", name: "root" });
    await waitUntil(() => !exists("grandchild"));
    expect(exists("child")).toBe(false);
    expect(exists("stranger")).toBe(true);
  });

  test("an object with an owner left stays and forgets the lost one", async () => {
    const [gone, kept] = [await create("gone"), await create("kept")];
    await create("shared", { ownerReferences: [ownerOf(gone), ownerOf(kept)] });
    await client.delete({ type: ConfigMap, namespace: "default", name: "gone" });
    const read = () => client.get({ type: ConfigMap, namespace: "default", name: "shared" });
    await waitUntil(async () => (await read()).metadata.ownerReferences?.length === 1);
    expect((await read()).metadata.ownerReferences).toEqual([ownerOf(kept)]);
  });

  test("an object whose owner never existed goes at once", async () => {
    await create("orphan", { ownerReferences: [ghost] });
    await waitUntil(() => !exists("orphan"));
  });

  test("a new object of the old name owns nothing", async () => {
    const first = await create("root");
    await client.delete({ type: ConfigMap, namespace: "default", name: "root" });
    await create("root");
    await create("late", { ownerReferences: [ownerOf(first)] });
    await waitUntil(() => !exists("late"));
    expect(exists("root")).toBe(true);
  });

  test("finalizers of a dependant are respected", async () => {
    const root = await create("root");
    await create("held", { ownerReferences: [ownerOf(root)], finalizers: ["example.org/wait"] });
    await client.delete({ type: ConfigMap, namespace: "default", name: "root" });
    const ref = { type: ConfigMap, namespace: "default", name: "held" };
    await waitUntil(async () => (await client.get(ref)).metadata.deletionTimestamp !== undefined);
    await client.patch(ref, { type: "merge", body: { metadata: { finalizers: null } } });
    expect(exists("held")).toBe(false);
  });

  test("an object that owns itself stays, a ring goes when it is cut", async () => {
    const self = await create("self");
    await client.update(ConfigMap, { ...self, metadata: { ...self.metadata, ownerReferences: [ownerOf(self)] } });
    const a = await create("a");
    const b = await create("b", { ownerReferences: [ownerOf(a)] });
    await client.update(ConfigMap, { ...a, metadata: { ...a.metadata, ownerReferences: [ownerOf(b)] } });
    await settled();
    expect([exists("self"), exists("a"), exists("b")]).toEqual([true, true, true]);
    await client.delete({ type: ConfigMap, namespace: "default", name: "a" });
    await waitUntil(() => !exists("b"));
  });

  test("an owner in another namespace is reported, and nothing is deleted", async () => {
    const far = await client.create(ConfigMap, configMap("far", {}, { namespace: "kube-public" }));
    await create("confused", { ownerReferences: [ownerOf(far)] });
    await waitUntil(async () => (await client.list(CoreEvent, { namespace: "default" })).items.length === 1);
    const [event] = (await client.list<KubeObject & { reason?: string }>(CoreEvent, { namespace: "default" })).items;
    expect(event?.reason).toBe("OwnerRefInvalidNamespace");
    expect(exists("confused")).toBe(true);
  });

  test("a namespace may own what is in it and what is not", async () => {
    const owner = await client.get({ type: Namespace, name: "kube-public" });
    await create("owned", { ownerReferences: [ownerOf(owner)] });
    await settled();
    expect(exists("owned")).toBe(true);
  });

  test("what was left behind before a restart is found by it", async () => {
    const root = await create("root");
    await create("child", { ownerReferences: [ownerOf(root)] });
    await server.close();
    const key = { group: "", resource: "configmaps", namespace: "default", name: "root" };
    await store.write((transaction) => void transaction.remove(key));
    expect(exists("child")).toBe(true);
    await start();
    await waitUntil(() => !exists("child"));
  });
});

describe("namespaces", () => {
  test("the first four exist, each with its account and certificate", async () => {
    const found = (await client.list(Namespace)).items.map(({ metadata }) => metadata.name);
    expect(found).toEqual(["default", "kube-public", "kube-system", "slipway-system"]);
    for (const namespace of found) {
      await client.get({ type: ServiceAccount, namespace, name: "default" });
      const ca = await client.get<KubeObject & { data?: object }>({
        type: ConfigMap,
        namespace,
        name: "kube-root-ca.crt",
      });
      expect(ca.data).toEqual({ "ca.crt": "PEM" });
    }
  });

  test("what belongs to a namespace comes back, and follows a new certificate", async () => {
    await client.delete({ type: ServiceAccount, namespace: "default", name: "default" });
    const account = { group: "", resource: "serviceaccounts", namespace: "default", name: "default" };
    await waitUntil(() => store.get(account) !== undefined);
    await server.close();
    await start("OTHER");
    const ca = await client.get<KubeObject & { data?: object }>({
      type: ConfigMap,
      namespace: "default",
      name: "kube-root-ca.crt",
    });
    expect(ca.data).toEqual({ "ca.crt": "OTHER" });
  });

  const team = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } };
  const gone = () =>
    waitUntil(() => store.get({ group: "", resource: "namespaces", namespace: "", name: "team" }) === undefined);

  test("a deleted one goes with everything in it", async () => {
    await client.create(Namespace, team);
    for (let count = 0; count < 20; count++)
      await client.create(ConfigMap, configMap(`c${count}`, {}, { namespace: "team" }));
    await client.create(Pod, pod("p", { namespace: "team" }));
    const answer = await client.delete({ type: Namespace, name: "team" });
    expect(answer).toMatchObject({ kind: "Namespace", status: { phase: "Terminating" } });
    await gone();
    expect((await client.list(ConfigMap, { namespace: "team" })).items).toEqual([]);
    expect((await client.list(Pod)).items).toEqual([]);
  });

  test("one that cannot go yet says what keeps it", async () => {
    await client.create(Namespace, team);
    await client.create(ConfigMap, configMap("held", {}, { namespace: "team", finalizers: ["example.org/wait"] }));
    await client.delete({ type: Namespace, name: "team" });
    interface Conditioned extends KubeObject {
      readonly status?: { readonly conditions?: readonly { readonly type: string; readonly message: string }[] };
    }
    const conditions = async () =>
      (await client.get<Conditioned>({ type: Namespace, name: "team" })).status?.conditions ?? [];
    await waitUntil(async () => (await conditions()).length === 5);
    expect((await conditions()).slice(3)).toMatchObject([
      { type: "NamespaceContentRemaining", message: expect.stringContaining("configmaps. has 1") },
      { type: "NamespaceFinalizersRemaining", message: expect.stringContaining("example.org/wait") },
    ]);
    await client.patch(
      { type: ConfigMap, namespace: "team", name: "held" },
      { type: "merge", body: { metadata: { finalizers: null } } },
    );
    await gone();
  });

  test("a deletion goes on after a restart", async () => {
    await client.create(Namespace, team);
    await client.create(ConfigMap, configMap("c", {}, { namespace: "team" }));
    const deletion = client.delete({ type: Namespace, name: "team" });
    await server.close();
    await deletion;
    await start();
    await gone();
  });
});

describe("custom kinds", () => {
  test("a deleted definition takes its objects along, and waits for their finalizers", async () => {
    const type = {
      group: "apiextensions.k8s.io",
      version: "v1",
      plural: "customresourcedefinitions",
      kind: "CustomResourceDefinition",
      namespaced: false,
    };
    await client.create(type, widgetDefinition);
    const widgets = (await client.resourceType("demo.example.org/v1", "Widget")) ?? expect.fail("not served");
    await client.create(widgets, widget("free", { spec: {} }, { namespace: "default" }));
    await client.create(
      widgets,
      widget("held", { spec: {} }, { namespace: "default", finalizers: ["example.org/wait"] }),
    );
    await client.delete({ type, name: "widgets.demo.example.org" });
    await waitUntil(async () => (await client.list(widgets)).items.length === 1);
    const late = client.create(widgets, widget("late", { spec: {} }, { namespace: "default" }));
    await expect(late).rejects.toMatchObject({ code: 405 });
    await client.patch(
      { type: widgets, namespace: "default", name: "held" },
      { type: "merge", body: { metadata: { finalizers: null } } },
    );
    await waitUntil(() => server.registry().find("demo.example.org", "v1", "widgets") === undefined);
    expect(await client.resourceType("demo.example.org/v1", "Widget")).toBeUndefined();
    expect(store.collections().filter(({ group }) => group === "demo.example.org")).toEqual([]);
  });

  test("stored definitions are served again after a restart", async () => {
    const type = {
      group: "apiextensions.k8s.io",
      version: "v1",
      plural: "customresourcedefinitions",
      kind: "CustomResourceDefinition",
      namespaced: false,
    };
    await client.create(type, widgetDefinition);
    await server.close();
    await start();
    expect(await client.resourceType("demo.example.org/v1", "Widget")).toMatchObject({
      plural: "widgets",
      shortNames: ["wd"],
    });
  });
});

describe("Events", () => {
  const event = (name: string) => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: "default" },
    involvedObject: { kind: "Pod", name: "p", namespace: "default" },
    reason: "Tested",
    message: "x",
    type: "Normal",
  });
  const left = async () => (await client.list(CoreEvent)).items.map(({ metadata }) => metadata.name);

  test("go an hour after their last change", async () => {
    await client.create(CoreEvent, event("old"));
    await client.create(CoreEvent, event("renewed"));
    await clock.advance(30 * 60_000);
    await client.patch(
      { type: CoreEvent, namespace: "default", name: "renewed" },
      { type: "merge", body: { count: 2 } },
    );
    await clock.advance(30 * 60_000);
    await waitUntil(async () => (await left()).length === 1);
    expect(await left()).toEqual(["renewed"]);
    await clock.advance(30 * 60_000);
    await waitUntil(async () => (await left()).length === 0);
  });

  test("go after a restart as well", async () => {
    await client.create(CoreEvent, event("old"));
    await server.close();
    await clock.advance(2 * 3_600_000);
    await start();
    await clock.advance(1000);
    await waitUntil(async () => (await left()).length === 0);
  });

  test("many go in several batches", async () => {
    await Promise.all(Array.from({ length: 1200 }, (_, index) => client.create(CoreEvent, event(`e${index}`))));
    await clock.advance(3_600_000);
    await waitUntil(async () => {
      await clock.advance(1);
      return (await left()).length === 0;
    });
  });
});
