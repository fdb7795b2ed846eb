import { expect, test } from "vitest";
import { ConfigMap, Deployment, Secret } from "#kernel/model/index.ts";
import { ResourceTracker } from "../kinds.ts";
import {
  application,
  clustersOf,
  component,
  identity,
  policy,
  testClient,
  testDelivery,
  valueOf,
} from "../testing/fixtures.ts";

const local = { cluster: "local" };
const web = component("web", "webservice", {
  properties: { image: "nginx" },
  traits: [
    { type: "scaler", properties: { replicas: 3 } },
    { type: "expose", properties: {} },
  ],
});
const settings = component("settings", "config", { properties: { color: "red" } });

test("a component with traits is rendered, applied to local, tracked before it exists, and unhealthy until it is ready", async () => {
  const { delivery, client } = testDelivery(application({ components: [web] }));
  const rendered = valueOf(await delivery.render(web));
  const objects = [rendered.workload, ...rendered.auxiliaries];
  const stored = valueOf(await delivery.apply(objects, local, "workflow"));
  expect(stored.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    "Deployment web",
    expect.stringMatching(/^Service web-expose-[b-z2-9]{10}$/) as string,
  ]);
  expect(client.writes[0]).toBe("create ResourceTracker shop-v1-default");
  expect(client.writes.filter((write) => write.includes("ResourceTracker"))).toHaveLength(1);
  const deployment = await client.get({ type: Deployment, namespace: "default", name: "web" });
  expect(deployment.spec).toMatchObject({ replicas: 3 });
  expect(deployment.metadata.labels).toMatchObject({
    "app.oam.dev/name": "shop",
    "app.oam.dev/namespace": "default",
    "app.oam.dev/appRevision": "shop-v1",
    "app.oam.dev/app-revision-hash": "0123456789abcdef",
    "app.oam.dev/component": "web",
    "app.oam.dev/resourceType": "WORKLOAD",
    "workload.oam.dev/type": "webservice",
  });
  expect(await delivery.health(rendered, local)).toMatchObject({
    isHealthy: false,
    isWorkloadHealthy: false,
    message: "Deployment default/web is not ready",
  });
  const { generation = 1 } = deployment.metadata;
  const status = {
    observedGeneration: generation,
    replicas: 3,
    updatedReplicas: 3,
    conditions: [{ type: "Available", status: "True" }],
  };
  await client.updateStatus(Deployment, { ...deployment, status });
  expect(await delivery.health(rendered, local)).toMatchObject({
    isHealthy: true,
    traits: [
      { type: "scaler", healthy: true },
      { type: "expose", healthy: true },
    ],
  });
});

test("applying the same again writes nothing, neither tracker nor object", async () => {
  const { delivery, client, next } = testDelivery(application({ components: [web] }));
  const rendered = valueOf(await delivery.render(web));
  const objects = [rendered.workload, ...rendered.auxiliaries];
  await delivery.apply(objects, local, "workflow");
  const before = client.writes.length;
  valueOf(await next().apply(objects, local, "workflow"));
  expect(client.writes.slice(before)).toEqual([]);
});

test("bad input: a list instead of an object, an object without kind, and an unknown kind are refused by name", async () => {
  const { delivery, client } = testDelivery(application());
  const refused = async (object: unknown) => {
    const answer = await delivery.applyObject(object as never, local);
    return answer.ok ? undefined : answer.error;
  };
  expect(await refused([])).toBe("value: expected object, found a list");
  expect(await refused({ apiVersion: "v1", metadata: {} })).toBe("value: expected object with kind");
  expect(await refused({ apiVersion: "acme.io/v1", kind: "Rocket", metadata: { name: "r" } })).toBe(
    "no kind Rocket in version acme.io/v1",
  );
  expect(client.writes).toEqual([]);
});

test("bad input: an object across namespaces is refused when that is not allowed, and nothing is written", async () => {
  const { delivery, client } = testDelivery(application(), { allowCrossNamespace: false });
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "other" } };
  expect(await delivery.applyObject(object, local)).toEqual({
    ok: false,
    error: "ConfigMap other/a is outside of the application's namespace default, which is not allowed",
  });
  expect(client.writes).toEqual([]);
});

test("bad input: an object of another application is refused with its name, and nothing is written", async () => {
  const { delivery, client, next } = testDelivery(application({ components: [settings] }));
  const rendered = valueOf(await delivery.render(settings));
  await delivery.apply([rendered.workload], local, "workflow");
  const before = client.writes.length;
  const theirs = next(application({ identity: identity({ name: "blog" }), components: [settings, web] }));
  const wanted = [valueOf(await theirs.render(web)).workload, valueOf(await theirs.render(settings)).workload];
  expect(await theirs.apply(wanted, local, "workflow")).toEqual({
    ok: false,
    error: "ConfigMap default/settings exists but is managed by other application default/shop",
  });
  expect(client.writes.slice(before)).toEqual([]);
});

test("an object that no application manages is adopted only by policy take-over", async () => {
  const { delivery, client, next } = testDelivery(application({ components: [settings] }));
  await client.create(ConfigMap, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "settings", namespace: "default" },
  });
  const { workload } = valueOf(await delivery.render(settings));
  expect(await delivery.apply([workload], local, "workflow")).toEqual({
    ok: false,
    error: "ConfigMap default/settings exists but is not managed by any application; policy take-over adopts it",
  });
  const takeOver = policy("take-over", { rules: [{ selector: { componentNames: ["settings"] } }] });
  const adopting = next(application({ components: [settings], policies: [takeOver] }));
  valueOf(await adopting.apply([workload], local, "workflow"));
  const live = await client.get({ type: ConfigMap, namespace: "default", name: "settings" });
  expect(live.metadata.labels).toMatchObject({ "app.oam.dev/name": "shop" });
});

test("17.17 read-only: the object must exist, and is never written", async () => {
  const readOnly = policy("read-only", { rules: [{ selector: { resourceTypes: ["ConfigMap"] } }] });
  const { delivery, client, next } = testDelivery(application({ components: [settings], policies: [readOnly] }));
  const { workload } = valueOf(await delivery.render(settings));
  expect(await delivery.apply([workload], local, "workflow")).toMatchObject({
    ok: false,
    error: "ConfigMap default/settings does not exist and policy read-only forbids creating it",
  });
  await client.create(ConfigMap, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "settings", namespace: "default" },
  });
  const [live] = valueOf(await next().apply([workload], local, "workflow"));
  expect(live?.metadata.labels).toBeUndefined();
});

test("17.17 apply-once: listed paths keep the live value on updates", async () => {
  const once = policy("apply-once", {
    enable: true,
    rules: [{ selector: { componentNames: ["web"] }, strategy: { affect: "onUpdate", path: ["spec.replicas"] } }],
  });
  const { delivery, client, next } = testDelivery(application({ components: [web], policies: [once] }));
  const { workload } = valueOf(await delivery.render(web));
  await delivery.apply([workload], local, "workflow");
  const ref = { type: Deployment, namespace: "default", name: "web" };
  await client.patch(ref, { type: "merge", body: { spec: { replicas: 9 } } });
  const changed = { ...web, properties: { image: "nginx:2" } };
  await next().apply([valueOf(await next().render(changed)).workload], local, "workflow");
  const { spec } = await client.get(ref);
  expect(spec).toMatchObject({ replicas: 9, template: { spec: { containers: [{ image: "nginx:2" }] } } });
});

test("17.17 shared-resource: the first of two applications writes, the second one uses the object", async () => {
  const shared = policy("shared-resource", { rules: [{ selector: { resourceTypes: ["ConfigMap"] } }] });
  const { delivery, client, next } = testDelivery(application({ components: [settings], policies: [shared] }));
  valueOf(await delivery.apply([valueOf(await delivery.render(settings)).workload], local, "workflow"));
  const blue = component("settings", "config", { properties: { color: "blue" } });
  const theirs = next(
    application({ identity: identity({ name: "blog", revision: "blog-v1" }), components: [blue], policies: [shared] }),
  );
  valueOf(await theirs.apply([valueOf(await theirs.render(blue)).workload], local, "workflow"));
  const live = await client.get({ type: ConfigMap, namespace: "default", name: "settings" });
  expect(live).toMatchObject({
    data: { color: "red" },
    metadata: { annotations: { "app.oam.dev/shared-by": "default/shop,default/blog" } },
  });
});

test("17.17 resource-update: a change of a listed field deletes and creates the object", async () => {
  const update = policy("resource-update", {
    rules: [{ selector: { componentNames: ["settings"] }, strategy: { op: "patch", recreateFields: ["data.color"] } }],
  });
  const { delivery, client, next } = testDelivery(application({ components: [settings], policies: [update] }));
  const [first] = valueOf(await delivery.apply([valueOf(await delivery.render(settings)).workload], local, "workflow"));
  const blue = component("settings", "config", { properties: { color: "blue" } });
  const [second] = valueOf(await next().apply([valueOf(await next().render(blue)).workload], local, "workflow"));
  expect(second).toMatchObject({ data: { color: "blue" } });
  expect(second?.metadata.uid).not.toBe(first?.metadata.uid);
  expect(client.writes).toContain("delete ConfigMap default/settings");
});

test("17.20 secrets: a rendered Secret is applied, and its values are in no tracker", async () => {
  const login = component("login", "secret", { properties: { password: "hunter2" } });
  const { delivery, client } = testDelivery(application({ components: [login] }));
  valueOf(await delivery.apply([valueOf(await delivery.render(login)).workload], local, "workflow"));
  const secret = await client.get({ type: Secret, namespace: "default", name: "login" });
  expect(JSON.stringify(secret)).toContain("hunter2");
  const { items } = await client.list(ResourceTracker);
  expect(items).toHaveLength(1);
  expect(JSON.stringify(items)).not.toContain("hunter2");
});

test("an object is placed on another cluster, with its own namespace", async () => {
  const east = testClient();
  const { delivery, client } = testDelivery(application({ components: [settings] }), {
    clusters: clustersOf({ local: testClient(), east }),
  });
  const place = { cluster: "east", namespace: "other" };
  const rendered = valueOf(await delivery.render(settings, place));
  valueOf(await delivery.apply([rendered.workload], place, "workflow"));
  expect(await east.get({ type: ConfigMap, namespace: "other", name: "settings" })).toMatchObject({
    data: { color: "red" },
  });
  expect(client.writes).toEqual(["create ResourceTracker shop-v1-default"]);
});

test("bad input: an unknown cluster is named", async () => {
  const { delivery } = testDelivery(application({ components: [settings] }));
  const { workload } = valueOf(await delivery.render(settings));
  expect(await delivery.apply([workload], { cluster: "mars" }, "workflow")).toEqual({
    ok: false,
    error: "failed to get cluster mars",
  });
});

test("patches of an action and of earlier steps are merged into what is rendered", async () => {
  const { delivery } = testDelivery(application({ components: [web] }));
  delivery.patchComponent("web", { spec: { replicas: 7 } });
  const patch = { workload: { metadata: { annotations: { a: "b" } } } };
  const { workload } = valueOf(await delivery.render(web, { patch }));
  expect(workload.object).toMatchObject({ spec: { replicas: 7 }, metadata: { annotations: { a: "b" } } });
});

test("an unknown type of component is refused with the places and the nearest name", async () => {
  const { delivery } = testDelivery(application());
  expect(await delivery.render(component("a", "webservise"))).toEqual({
    ok: false,
    error: 'component "a": ComponentDefinition "webservise" not found in ns default, vela-system; nearest: webservice',
  });
  expect(await delivery.render(component("a", "broken"))).toEqual({
    ok: false,
    error: 'component "a": image is required',
  });
});

test("removing an object of the application also forgets it; another application's stays", async () => {
  const { delivery, client, next } = testDelivery(application({ components: [settings] }));
  const { workload } = valueOf(await delivery.render(settings));
  await delivery.apply([workload], local, "workflow");
  const theirs = next(application({ identity: identity({ name: "blog" }) }));
  expect(await theirs.remove(workload.object, local)).toMatchObject({ ok: false });
  valueOf(await next().remove(workload.object, local));
  expect((await client.list(ConfigMap, { namespace: "default" })).items).toEqual([]);
  expect((await client.list(ResourceTracker)).items[0]?.spec).toMatchObject({ managedResources: [] });
});
