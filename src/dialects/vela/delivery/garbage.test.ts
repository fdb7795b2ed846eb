import { expect, test } from "vitest";
import { ConfigMap, type KubeObject, Secret } from "#kernel/model/index.ts";
import type { App } from "../app.ts";
import { ResourceTracker } from "../kinds.ts";
import {
  application,
  clustersOf,
  component,
  identity,
  policy,
  templates,
  testClient,
  testDelivery,
  valueOf,
} from "../testing/fixtures.ts";
import { fakeCue } from "../testing/fake-cue.ts";
import { collectGarbage, releaseApplication } from "./garbage.ts";
import { keepState } from "./keep-state.ts";
import { evaluateServices } from "./services.ts";
import { VelaDelivery } from "./vela-delivery.ts";

const local = { cluster: "local" };
const config = (name: string) => component(name, "config", { properties: { name } });
const v1 = identity();
const v2 = identity({ revision: "shop-v2", revisionNumber: 2, generation: 2 });

async function applyAll(delivery: VelaDelivery): Promise<void> {
  for (const one of delivery.app.components) {
    const { workload, auxiliaries } = valueOf(await delivery.render(one));
    valueOf(await delivery.apply([workload, ...auxiliaries], local, "workflow"));
  }
}

/** Three ConfigMaps in revision 1, of which revision 2 keeps the first. */
async function updated(more: Partial<App> = {}) {
  const first = application({ identity: v1, components: [config("a"), config("b"), config("c")], ...more });
  const test = testDelivery(first);
  await applyAll(test.delivery);
  const second = application({ identity: v2, components: [config("a")], ...more });
  await applyAll(test.next(second));
  const names = async () =>
    (await test.client.list(ConfigMap, { namespace: "default" })).items.map(({ metadata }) => metadata.name);
  const trackers = async () => (await test.client.list(ResourceTracker)).items.map(({ metadata }) => metadata.name);
  return { ...test, second, names, trackers };
}

test("17.17 garbage-collect: objects that the new revision does not have are deleted in reverse order, with their tracker", async () => {
  const { next, second, client, names, trackers } = await updated();
  const result = await collectGarbage(next(second));
  expect(result).toEqual({ deleted: ["ConfigMap default/c", "ConfigMap default/b"], pending: [], left: [] });
  expect(await names()).toEqual(["a"]);
  expect(await trackers()).toEqual(["shop-v2-default"]);
  expect(client.writes.filter((write) => write.startsWith("delete ConfigMap"))).toEqual([
    "delete ConfigMap default/c",
    "delete ConfigMap default/b",
  ]);
});

test("17.17 garbage-collect: onAppDelete keeps an object until the application is deleted, never for ever", async () => {
  const rules = [
    { selector: { resourceNames: ["b"] }, strategy: "onAppDelete" },
    { selector: { resourceNames: ["c"] }, strategy: "never" },
  ];
  const { next, second, names } = await updated({ policies: [policy("garbage-collect", { rules })] });
  expect(await collectGarbage(next(second))).toMatchObject({ deleted: [] });
  expect(await names()).toEqual(["a", "b", "c"]);
  const released = await releaseApplication(next(second));
  expect([...released.deleted].sort()).toEqual(["ConfigMap default/a", "ConfigMap default/b"]);
  expect(await names()).toEqual(["c"]);
});

test("garbage-collect with keepLegacyResource deletes nothing until the application is deleted", async () => {
  const policies = [policy("garbage-collect", { keepLegacyResource: true })];
  const { next, second, names, trackers } = await updated({ policies });
  expect(await collectGarbage(next(second))).toEqual({ deleted: [], pending: [], left: [] });
  expect(await names()).toEqual(["a", "b", "c"]);
  await releaseApplication(next(second));
  expect(await names()).toEqual([]);
  expect(await trackers()).toEqual([]);
});

test("garbage-collect in order of dependencies waits for an object that is terminating", async () => {
  const policies = [policy("garbage-collect", { order: "dependency" })];
  const { next, second, client, names } = await updated({ policies });
  const ref = { type: ConfigMap, namespace: "default", name: "c" };
  await client.patch(ref, { type: "merge", body: { metadata: { finalizers: ["a.io/hold"] } } });
  expect(await collectGarbage(next(second))).toEqual({
    deleted: [],
    pending: ["ConfigMap default/c is still being deleted"],
    left: [],
  });
  expect(await names()).toEqual(["a", "b", "c"]);
  await client.patch(ref, { type: "merge", body: { metadata: { finalizers: null } } });
  expect(await collectGarbage(next(second))).toMatchObject({ deleted: ["ConfigMap default/c", "ConfigMap default/b"] });
});

test("objects that something still uses stay tracked", async () => {
  const { next, second, names, trackers } = await updated();
  await collectGarbage(next(second), { isInUse: ({ name }) => name === "b" });
  expect(await names()).toEqual(["a", "b"]);
  expect(await trackers()).toEqual(["shop-v1-default", "shop-v2-default"]);
});

test("an object that was relabelled is not the application's any more and stays", async () => {
  const { next, second, client, names } = await updated();
  const ref = { type: ConfigMap, namespace: "default", name: "b" };
  await client.patch(ref, { type: "merge", body: { metadata: { labels: { "app.oam.dev/name": "blog" } } } });
  const result = await collectGarbage(next(second));
  expect(result.left).toEqual(["ConfigMap default/b is not managed by the application any more"]);
  expect(await names()).toEqual(["a", "b"]);
});

test("deletion of an application deletes all of its objects, or leaves them with the orphan finalizer", async () => {
  const { next, second, names, trackers } = await updated();
  expect(await releaseApplication(next(second), { isOrphaning: true })).toEqual({ deleted: [], pending: [], left: [] });
  expect(await names()).toEqual(["a", "b", "c"]);
  expect(await trackers()).toEqual([]);
});

test("an object of a cluster that does not answer is pending, and is deleted once it answers", async () => {
  const east = testClient();
  const isAway = { value: false };
  const away = new Proxy(east, {
    get: (target, name) => {
      if (isAway.value && name === "get") return () => Promise.reject(new Error("connection refused"));
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  const first = testClient();
  const clusters = clustersOf({ local: first, east: away });
  const { delivery, next } = testDelivery(application({ components: [config("a")] }), { clusters, client: first });
  const { workload } = valueOf(await delivery.render(config("a")));
  valueOf(await delivery.apply([workload], { cluster: "east" }, "workflow"));
  isAway.value = true;
  expect(await releaseApplication(next())).toMatchObject({
    pending: ["ConfigMap default/a of cluster east: connection refused"],
  });
  isAway.value = false;
  expect(await releaseApplication(next())).toMatchObject({ deleted: ["ConfigMap default/a"], pending: [] });
});

test("an object of a detached cluster does not hold up the deletion", async () => {
  const client = testClient();
  const clusters = clustersOf({ local: client, east: testClient() });
  const { delivery } = testDelivery(application({ components: [config("a")] }), { clusters, client, own: client });
  const { workload } = valueOf(await delivery.render(config("a")));
  valueOf(await delivery.apply([workload], { cluster: "east" }, "workflow"));
  const parts = { ...delivery.parts, clusters: clustersOf({ local: client }) };
  expect(await releaseApplication(new VelaDelivery(parts))).toEqual({
    deleted: [],
    pending: [],
    left: ["ConfigMap default/a of cluster east: failed to get cluster east"],
  });
});

test("17.17 a shared object passes to the next application when its owner is deleted", async () => {
  const policies = [policy("shared-resource", { rules: [{ selector: { resourceTypes: ["ConfigMap"] } }] })];
  const { delivery, next, client } = testDelivery(application({ components: [config("a")], policies }));
  await applyAll(delivery);
  const blog = application({
    identity: identity({ name: "blog", revision: "blog-v1" }),
    components: [config("a")],
    policies,
  });
  await applyAll(next(blog));
  expect((await releaseApplication(next())).left).toEqual(["ConfigMap default/a is still used by default/blog"]);
  const live = await client.get({ type: ConfigMap, namespace: "default", name: "a" });
  expect(live.metadata).toMatchObject({
    labels: { "app.oam.dev/name": "blog" },
    annotations: { "app.oam.dev/shared-by": "default/blog" },
  });
  expect(await releaseApplication(next(blog))).toMatchObject({ deleted: ["ConfigMap default/a"] });
});

test("state keep restores what drifted and what is gone, and writes nothing else", async () => {
  const { delivery, next, client } = testDelivery(application({ components: [config("a"), config("b"), config("c")] }));
  await applyAll(delivery);
  const ref = (name: string) => ({ type: ConfigMap, namespace: "default", name });
  await client.patch(ref("a"), { type: "merge", body: { data: { name: "edited", extra: "1" } } });
  await client.delete(ref("b"));
  const before = client.writes.length;
  expect(await keepState(next())).toEqual({ restored: ["ConfigMap default/a", "ConfigMap default/b"], problems: [] });
  expect(client.writes.slice(before)).toEqual(["apply ConfigMap default/a", "apply ConfigMap default/b"]);
  expect(await client.get(ref("a"))).toMatchObject({ data: { name: "a", extra: "1" } });
  expect(await keepState(next())).toEqual({ restored: [], problems: [] });
});

test("17.17 apply-once without rules: drift stays", async () => {
  const policies = [policy("apply-once", { enable: true })];
  const { delivery, next, client } = testDelivery(application({ components: [config("a")], policies }));
  await applyAll(delivery);
  await client.delete({ type: ConfigMap, namespace: "default", name: "a" });
  expect(await keepState(next())).toEqual({ restored: [], problems: [] });
});

test("state keep finds Secrets among the rendered resources of the revision", async () => {
  const login = component("login", "secret", { properties: { password: "hunter2" } });
  const { delivery, next, client } = testDelivery(application({ components: [login] }));
  await applyAll(delivery);
  const rendered = valueOf(await delivery.render(login)).workload;
  const ref = { type: Secret, namespace: "default", name: "login" };
  await client.delete(ref);
  expect(await keepState(next())).toEqual({ restored: [], problems: [] });
  const secrets = new Map<string, KubeObject>([[rendered.key, rendered.object]]);
  expect(await keepState(next(), secrets)).toEqual({ restored: ["Secret default/login"], problems: [] });
  expect(JSON.stringify(await client.get(ref))).toContain("hunter2");
});

test("services have the health of each component and its traits, applied resources all objects with their uid", async () => {
  const web = component("web", "webservice", {
    properties: { image: "nginx" },
    traits: [
      { type: "scaler", properties: { replicas: 2 } },
      { type: "expose", properties: {} },
    ],
  });
  const { delivery, next, client } = testDelivery(application({ components: [web, config("a")] }));
  await applyAll(delivery);
  const { services, appliedResources, isHealthy } = await evaluateServices(next());
  expect(isHealthy).toBe(false);
  expect(services).toEqual([
    {
      name: "web",
      namespace: "default",
      cluster: "local",
      workloadDefinition: { apiVersion: "apps/v1", kind: "Deployment" },
      healthy: false,
      workloadHealthy: false,
      message: "Deployment default/web is not ready",
      traits: [
        { type: "scaler", healthy: true },
        { type: "expose", healthy: true },
      ],
    },
    {
      name: "a",
      namespace: "default",
      cluster: "local",
      workloadDefinition: { apiVersion: "v1", kind: "ConfigMap" },
      healthy: true,
      workloadHealthy: true,
      traits: [],
    },
  ]);
  expect(appliedResources.map(({ kind }) => kind)).toEqual(["Deployment", "Service", "ConfigMap"]);
  expect(appliedResources.every(({ uid }) => typeof uid === "string")).toBe(true);
  await client.delete({ type: ConfigMap, namespace: "default", name: "a" });
  const after = await evaluateServices(next());
  expect(after.services[1]).toMatchObject({ healthy: false, message: "ConfigMap default/a not found" });
});

test("services judge a component by the parameters that an override gives it", async () => {
  const web = component("web", "webservice", { properties: { image: "nginx" } });
  const change = policy("override", { components: [{ name: "web", properties: { image: "apache" } }] });
  const step = {
    name: "deploy",
    type: "deploy",
    stage: "post-render",
    dependsOn: [],
    inputs: [],
    outputs: [],
    properties: { policies: [change.name] },
    subSteps: [],
  } as const;
  const app = application({ components: [web], policies: [change] });
  const whole = { ...app, workflow: { ...app.workflow, steps: [step] } };
  const seen: unknown[] = [];
  const cue = fakeCue(templates, ({ parameter }) => {
    seen.push(parameter);
    return { details: {} };
  });
  const { delivery, next } = testDelivery(whole, { cue });
  const changed = valueOf(await delivery.render({ ...web, properties: { image: "apache" } }));
  valueOf(await delivery.apply([changed.workload], { cluster: "local" }, "workflow"));
  await evaluateServices(next());
  expect(seen).toEqual([{ image: "apache" }]);
});

test("17.17 garbage-collect: what an earlier run of the same revision applied, and the present one did not, is deleted", async () => {
  let run = "2026-01-01T00:00:00Z";
  const { delivery, next, client } = testDelivery(application({ components: [config("a"), config("b")] }), {
    run: () => run,
  });
  await applyAll(delivery);
  run = "2026-01-02T00:00:00Z";
  const again = next();
  const a = valueOf(await again.render(config("a")));
  valueOf(await again.apply([a.workload], { cluster: "local" }, "workflow"));
  expect((await collectGarbage(next())).deleted).toEqual(["ConfigMap default/b"]);
  expect((await client.list(ConfigMap)).items.map(({ metadata }) => metadata.name)).toEqual(["a"]);
  expect((await collectGarbage(next())).deleted).toEqual([]);
});
