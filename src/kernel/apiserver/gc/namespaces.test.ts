import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import {
  ConfigMap,
  CoreEvent,
  CustomResourceDefinition,
  Job,
  type KubeObject,
  Namespace,
  Pod,
  Secret,
  ServiceAccount,
} from "#kernel/model/index.ts";
import { type ApiServer, createApiServer } from "../api-server.ts";
import { memoryStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";
import { configMap, pod, waitUntil, widget, widgetDefinition } from "../testing/index.ts";

let clock: FakeClock;
let store: Store;
let server: ApiServer;
let client: ApiClient;
beforeEach(async () => {
  clock = new FakeClock();
  store = memoryStore({ clock });
  server = await createApiServer({ store, clock, log: silentLog, version: "0.0.0", rootCertificate: "PEM" });
  client = server.client();
  await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
  await waitUntil(() => server.settled);
});
afterEach(async () => {
  await server.close();
  await store.close();
});

interface Conditioned extends KubeObject {
  readonly status?: { readonly phase?: string; readonly conditions?: readonly Readonly<Record<string, string>>[] };
}
const inTeam = (name: string, more: object = {}) => configMap(name, {}, { namespace: "team", ...more });
const conditions = async () =>
  (await client.get<Conditioned>({ type: Namespace, name: "team" })).status?.conditions ?? [];
const isGone = () => store.get({ group: "", resource: "namespaces", namespace: "", name: "team" }) === undefined;
const remove = () => client.delete({ type: Namespace, name: "team" });
const release = (name: string) =>
  client.patch(
    { type: ConfigMap, namespace: "team", name },
    { type: "merge", body: { metadata: { finalizers: null } } },
  );

describe("a new namespace", () => {
  test("gets its account and certificate", async () => {
    await client.get({ type: ServiceAccount, namespace: "team", name: "default" });
    const config = await client.get<KubeObject & { data?: object }>({
      type: ConfigMap,
      namespace: "team",
      name: "kube-root-ca.crt",
    });
    expect(config.data).toEqual({ "ca.crt": "PEM" });
  });

  test("gets back what belongs to it, and nothing else", async () => {
    await client.create(ConfigMap, inTeam("mine"));
    for (const name of ["mine", "kube-root-ca.crt"]) await client.delete({ type: ConfigMap, namespace: "team", name });
    await client.delete({ type: ServiceAccount, namespace: "team", name: "default" });
    await waitUntil(() => server.settled);
    const names = (await client.list(ConfigMap, { namespace: "team" })).items.map(({ metadata }) => metadata.name);
    expect(names).toEqual(["kube-root-ca.crt"]);
    await client.get({ type: ServiceAccount, namespace: "team", name: "default" });
  });

  test("gets its certificate back when somebody has changed it and the namespace is touched", async () => {
    const certificate = { type: ConfigMap, namespace: "team", name: "kube-root-ca.crt" };
    await client.patch(certificate, { type: "merge", body: { data: { "ca.crt": "EVIL", more: "x" } } });
    await client.patch(
      { type: Namespace, name: "team" },
      { type: "merge", body: { metadata: { labels: { a: "b" } } } },
    );
    await waitUntil(
      async () =>
        (await client.get<KubeObject & { data?: Record<string, string> }>(certificate)).data?.["ca.crt"] === "PEM",
    );
    expect((await client.get<KubeObject & { data?: object }>(certificate)).data).toEqual({ "ca.crt": "PEM" });
  });
});

describe("a namespace that goes", () => {
  test("takes along objects of every kind, custom ones first and Events last", async () => {
    await client.create(CustomResourceDefinition, widgetDefinition);
    const widgets = (await client.resourceType("demo.example.org/v1", "Widget")) ?? expect.fail("not served");
    const order: string[] = [];
    const subscription = store.subscribeAll((events) => {
      for (const { type, entry } of events)
        if (type === "delete" && entry.key.namespace === "team") order.push(entry.key.resource);
    });
    const event = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "e", namespace: "team" },
      reason: "Tested",
      message: "x",
      type: "Normal",
    };
    await client.create(CoreEvent, { ...event, involvedObject: { kind: "Pod", name: "p", namespace: "team" } });
    await client.create(Secret, { apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace: "team" } });
    await client.create(Pod, pod("p", { namespace: "team" }));
    const template = { spec: { ...pod("x").spec, restartPolicy: "Never" } };
    await client.create(Job, {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "j", namespace: "team" },
      spec: { template },
    });
    await client.create(widgets, widget("w", { spec: {} }, { namespace: "team" }));
    await remove();
    await waitUntil(isGone);
    subscription.close();
    const firsts = [...new Set(order)];
    expect(firsts.slice(0, 3)).toEqual(["widgets", "jobs", "pods"]);
    expect(firsts.at(-1)).toBe("events");
    expect(new Set(firsts)).toEqual(
      new Set(["widgets", "jobs", "pods", "configmaps", "secrets", "serviceaccounts", "events"]),
    );
  });

  test("lets nothing new in, and gets nothing back", async () => {
    await client.create(ConfigMap, inTeam("held", { finalizers: ["example.org/wait"] }));
    await remove();
    await waitUntil(async () => (await conditions()).length === 5);
    await expect(client.create(ConfigMap, inTeam("late"))).rejects.toMatchObject({
      reason: "Forbidden",
      details: { causes: [{ reason: "NamespaceTerminating" }] },
    });
    expect((await client.list(ServiceAccount, { namespace: "team" })).items).toEqual([]);
    await release("held");
    await waitUntil(isGone);
  });

  test("says what keeps it, in Kubernetes' words, and keeps the time of what it says", async () => {
    for (const name of ["one", "two"])
      await client.create(ConfigMap, inTeam(name, { finalizers: ["example.org/b", "example.org/a"] }));
    await remove();
    await waitUntil(async () => (await conditions()).length === 5);
    const first = await conditions();
    expect(first.map(({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`)).toEqual([
      "NamespaceDeletionDiscoveryFailure False ResourcesDiscovered: All resources successfully discovered",
      "NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions: All legacy kube types successfully parsed",
      "NamespaceDeletionContentFailure False ContentDeleted: All content successfully deleted, may be waiting on finalization",
      "NamespaceContentRemaining True SomeResourcesRemain: Some resources are remaining: configmaps. has 2 resource instances",
      "NamespaceFinalizersRemaining True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.org/a in 2 resource instances, example.org/b in 2 resource instances",
    ]);
    await clock.advance(60_000);
    await release("one");
    await waitUntil(async () => (await conditions())[3]?.["message"]?.includes("has 1 ") === true);
    expect((await conditions()).map((one) => one["lastTransitionTime"])).toEqual(
      first.map((one) => one["lastTransitionTime"]),
    );
    await release("two");
    await waitUntil(isGone);
  });

  test("is held by finalizers of others in its spec, which only /finalize takes away", async () => {
    const held = { name: "held" };
    const spec = { finalizers: ["example.org/a"] };
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: held, spec });
    const read = () => client.get<Conditioned & { readonly spec?: object }>({ type: Namespace, ...held });
    const emptied = { type: "merge", body: { spec: { finalizers: [] } } } as const;
    await client.delete({ type: Namespace, ...held });
    await client.patch({ type: Namespace, ...held }, emptied);
    await waitUntil(async () => JSON.stringify((await read()).spec) === JSON.stringify(spec));
    const remaining = (await read()).status?.conditions?.find(({ type }) => type === "NamespaceContentRemaining");
    expect(remaining).toMatchObject({ status: "False", reason: "ContentRemoved" });
    await client.patch({ type: Namespace, ...held }, emptied, { subresource: "finalize" });
    await waitUntil(() => store.get({ group: "", resource: "namespaces", namespace: "", ...held }) === undefined);
  });

  test("does not come to life again under its old identity", async () => {
    const before = await client.get({ type: Namespace, name: "team" });
    await remove();
    await waitUntil(isGone);
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
    await waitUntil(() => server.settled);
    const after = await client.get<Conditioned>({ type: Namespace, name: "team" });
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
    expect(after.status).toEqual({ phase: "Active" });
  });

  test.each(["default", "kube-system", "kube-public"])("%s does not", async (name) => {
    await expect(client.delete({ type: Namespace, name })).rejects.toMatchObject({ code: 403 });
  });
});
