import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemRandom } from "#lib/base/index.node.ts";
import { isJsonObject, type JsonObject, objectAt, silentLog, systemClock } from "#lib/base/index.ts";
import { definitionsOf } from "#app/server/control-plane.ts";
import { loadDialects } from "#dialects/index.ts";
import type { App, AppIdentity } from "#dialects/vela/app.ts";
import type { Definition, Definitions, DefinitionType } from "#dialects/vela/definitions/definition.ts";
import { ClusterConnections } from "#dialects/vela/delivery/cluster-connections.ts";
import { clusterSecret } from "#dialects/vela/delivery/cluster-secret.ts";
import { collectGarbage, releaseApplication } from "#dialects/vela/delivery/garbage.ts";
import { detachCluster, joinCluster, listClusters } from "#dialects/vela/delivery/joining.ts";
import { keepState } from "#dialects/vela/delivery/keep-state.ts";
import { actingClient, type Actors, limitedClient, readingClient } from "#dialects/vela/delivery/rights.ts";
import { VelaDelivery } from "#dialects/vela/delivery/vela-delivery.ts";
import { Application, ResourceTracker, Workflow } from "#dialects/vela/kinds.ts";
import { application, component, identity, valueOf } from "#dialects/vela/testing/fixtures.ts";
import { startTestServer, type TestServer } from "#kernel/apiserver/testing/index.ts";
import { sharedOf } from "#kernel/dialect/index.ts";
import { type ApiClient, createHttpClient, fixedCredential } from "#kernel/kit/index.ts";
import { actsForAnnotation, ConfigMap, Deployment, type KubeObject, type Stored } from "#kernel/model/index.ts";
import { createCue, type Cue, type TemplateHost } from "#kernel/template/index.ts";
import { realHost } from "#kernel/template/testing/index.ts";
import { root } from "#test/support/slipway.ts";

// Delivery with real CUE and shipped definitions, to real API servers: the control plane, and a cluster joined over HTTPS.

let plane: TestServer;
let east: TestServer;
let host: TemplateHost;
let cue: Cue;
let definitions: Definitions;
let connections: ClusterConnections;
const signal = new AbortController().signal;
const local = { cluster: "local" };

beforeAll(async () => {
  const dialects = await loadDialects();
  const kinds = definitionsOf([sharedOf(dialects), ...dialects]);
  [plane, east] = await Promise.all([startTestServer({ definitions: kinds }), startTestServer({ definitions: kinds })]);
  host = await realHost();
  cue = createCue({ templates: host, packages: shippedPackages(), budgetMs: 20_000 });
  definitions = shippedDefinitions(cue);
  connections = new ClusterConnections({
    client: plane.client,
    systemNamespace: "vela-system",
    connect: (connection) => createHttpClient({ connection, clock: systemClock, log: silentLog, random: systemRandom }),
  });
});

afterAll(async () => {
  await connections.close();
  await Promise.all([plane.close(), east.close(), host.close()]);
});

function shippedPackages(): Readonly<Record<string, string>> {
  const folder = join(root, "src/dialects/vela/packages");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".cue"));
  return Object.fromEntries(files.map((file) => [file.replace(".cue", ""), readFileSync(join(folder, file), "utf8")]));
}

/** Read from their files on demand. */
function shippedDefinitions(reader: Cue): Definitions {
  const folder = join(root, "src/dialects/vela/definitions/shipped");
  return {
    async find(type: DefinitionType, name: string): Promise<Definition | undefined> {
      const read = await reader.readDefinition(readFileSync(join(folder, type, `${name}.cue`), "utf8"));
      if (!read.ok) throw new Error(read.error.message);
      const { template, attributes } = read.value;
      return { type, name, template, spec: attributes, annotations: {} };
    },
    names: async (type) => readdirSync(join(folder, type)).map((file) => file.replace(".cue", "")),
  };
}

function deliveryOf(app: App, client: ApiClient = plane.client): VelaDelivery {
  return new VelaDelivery({
    app,
    client,
    own: plane.client,
    clusters: connections.forApplication(client),
    definitions,
    cue,
    clock: systemClock,
    systemNamespace: "vela-system",
    revisionHash: "0123456789abcdef",
    allowCrossNamespace: true,
    signal,
  });
}

const web = component("web", "webservice", {
  properties: { image: "nginx", ports: [{ port: 80 }] },
  traits: [
    { type: "scaler", properties: { replicas: 3 } },
    { type: "labels", properties: { tier: "front" } },
  ],
});
const named = (name: string, more: Partial<AppIdentity> = {}) =>
  identity({ name, workflowName: name, revision: `${name}-v1`, ...more });

async function applied(delivery: VelaDelivery, place = local): Promise<readonly Stored[]> {
  const stored: Stored[] = [];
  for (const one of delivery.app.components) {
    const { workload, auxiliaries } = valueOf(await delivery.render(one, place));
    stored.push(...valueOf(await delivery.apply([workload, ...auxiliaries], place, "workflow")));
  }
  return stored;
}

test("a webservice with traits is rendered by CUE, applied, drifts, is restored and is released", async () => {
  const app = application({ identity: named("shop"), components: [web] });
  await applied(deliveryOf(app));
  const ref = { type: Deployment, namespace: "default", name: "web" };
  const first = await plane.client.get(ref);
  expect(first.spec).toMatchObject({
    replicas: 3,
    template: { metadata: { labels: { tier: "front" } }, spec: { containers: [{ name: "web", image: "nginx" }] } },
  });
  const { items } = await plane.client.list(ResourceTracker);
  expect(items[0]).toMatchObject({
    metadata: { name: "shop-v1-default" },
    spec: { managedResources: [{ kind: "Deployment", name: "web", role: "WORKLOAD", key: "web", component: "web" }] },
  });
  await applied(deliveryOf(app));
  expect((await plane.client.get(ref)).metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  expect(await keepState(deliveryOf(app))).toEqual({ restored: [], problems: [] });
  // Another field manager takes the field; state keep takes it back.
  await plane.client.patch(ref, { type: "merge", body: { spec: { replicas: 9 } } }, { fieldManager: "kubectl-edit" });
  expect(await keepState(deliveryOf(app))).toEqual({ restored: ["Deployment default/web"], problems: [] });
  expect((await plane.client.get(ref)).spec).toMatchObject({ replicas: 3 });
  expect(await releaseApplication(deliveryOf(app))).toMatchObject({ pending: [], left: [] });
  expect((await plane.client.list(ResourceTracker)).items).toEqual([]);
});

const object = (kind: string, more: JsonObject = {}) => ({ apiVersion: "v1", kind, metadata: { name: "x" }, ...more });
const raw = (name: string, properties: JsonObject, traits: App["components"][number]["traits"]) =>
  component(name, "raw", { properties, traits });
const trait = (type: string, properties: JsonObject) => ({ type, properties });

test.each<[string, App["components"][number], JsonObject]>([
  [
    "labels with null removes a label",
    raw("x", object("ConfigMap", { metadata: { name: "x", labels: { a: "1", b: "2" } } }), [
      trait("labels", { a: null }),
    ]),
    { metadata: { labels: { b: "2" } } },
  ],
  [
    "json-patch changes one field",
    raw("x", object("ConfigMap", { data: { a: "1" } }), [
      trait("json-patch", { operations: [{ op: "replace", path: "/data/a", value: "2" }] }),
    ]),
    { data: { a: "2" } },
  ],
  [
    "json-merge-patch removes with null",
    raw("x", object("ConfigMap", { data: { a: "1", b: "2" } }), [
      trait("json-merge-patch", { data: { a: null, c: "3" } }),
    ]),
    { data: { b: "2", c: "3" } },
  ],
  [
    "17.16 retainKeys keeps the patch's value",
    { ...web, traits: [trait("scaler", { replicas: 5 })] },
    { spec: { replicas: 5 } },
  ],
  [
    "env replaces, adds and unsets",
    {
      ...web,
      properties: {
        image: "nginx",
        env: [
          { name: "A", value: "1" },
          { name: "B", value: "2" },
        ],
      },
      traits: [trait("env", { env: { A: "9", C: "3" }, unset: ["B"] })],
    },
    {
      spec: {
        template: {
          spec: {
            containers: [
              {
                env: [
                  { name: "A", value: "9" },
                  { name: "C", value: "3" },
                ],
              },
            ],
          },
        },
      },
    },
  ],
  [
    "sidecar is a second container, and command finds the first",
    {
      ...web,
      traits: [trait("sidecar", { name: "log", image: "busybox" }), trait("command", { command: ["run"] })],
    },
    {
      spec: {
        template: {
          spec: {
            containers: [
              { name: "web", image: "nginx", command: ["run"] },
              { name: "log", image: "busybox" },
            ],
          },
        },
      },
    },
  ],
  [
    "storage mounts a volume",
    { ...web, traits: [trait("storage", { emptyDir: [{ name: "tmp", mountPath: "/tmp" }] })] },
    {
      spec: {
        template: {
          spec: { containers: [{ volumeMounts: [{ mountPath: "/tmp" }] }], volumes: [{ emptyDir: {} }] },
        },
      },
    },
  ],
  [
    "resource sets requests and limits",
    { ...web, traits: [trait("resource", { cpu: 2, memory: "1Gi" })] },
    { spec: { template: { spec: { containers: [{ resources: { limits: { memory: "1Gi" } } }] } } } },
  ],
  [
    "annotations reach the object and its pods",
    { ...web, traits: [trait("annotations", { note: "hi" })] },
    { metadata: { annotations: { note: "hi" } }, spec: { template: { metadata: { annotations: { note: "hi" } } } } },
  ],
  [
    "container-image changes the image by the container's name",
    { ...web, traits: [trait("container-image", { image: "nginx:2" })] },
    { spec: { template: { spec: { containers: [{ name: "web", image: "nginx:2" }] } } } },
  ],
])("17.16 patches of traits: %s", async (_case, one, expected) => {
  const delivery = deliveryOf(application({ identity: named("traits"), components: [one] }));
  expect(valueOf(await delivery.render(one)).workload.object).toMatchObject(expected);
});

test("two traits that render the same object are refused, and both are named", async () => {
  const expose = (port: number) => trait("expose", { port: [port] });
  const one = { ...web, traits: [expose(80), expose(81)] };
  const delivery = deliveryOf(application({ identity: named("twice"), components: [one] }));
  const rendered = await delivery.render(one);
  expect(rendered.ok ? "" : rendered.error).toBe(
    'component "web": trait "expose" and trait "expose" both render Service default/web',
  );
});

test("17.16 a conflict between a patch and the workload names the trait", async () => {
  const one = raw("x", object("ConfigMap", { data: { a: "1" } }), [trait("annotations", { note: 7 })]);
  const delivery = deliveryOf(application({ identity: named("traits"), components: [one] }));
  const rendered = await delivery.render(one);
  expect(rendered.ok ? "" : rendered.error).toContain('component "x": trait "annotations": ');
});

test("health of a webservice is what its definition says of the live Deployment", async () => {
  const app = application({ identity: named("sick"), components: [{ ...web, name: "sick" }] });
  const delivery = deliveryOf(app);
  const [one] = app.components;
  const rendered = valueOf(await delivery.render(one ?? web));
  valueOf(await delivery.apply([rendered.workload], local, "workflow"));
  const before = await delivery.health(rendered, local);
  expect(before).toMatchObject({ isHealthy: false, isWorkloadHealthy: false });
  const live = await plane.client.get({ type: Deployment, namespace: "default", name: "sick" });
  const counts = { replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3 };
  const conditions = [{ type: "Available", status: "True" }];
  const status = { observedGeneration: live.metadata.generation, ...counts, conditions };
  await plane.client.updateStatus(Deployment, { ...live, status });
  expect(await delivery.health(rendered, local)).toMatchObject({ isHealthy: true });
  expect(before.message).not.toBe("");
});

test("server-side apply removes the field that a new revision leaves out, and garbage is what it leaves behind", async () => {
  const config = (name: string, data: JsonObject) =>
    component(name, "k8s-objects", {
      properties: { objects: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data }] },
    });
  const first = application({
    identity: named("conf"),
    components: [config("kept", { a: "1", b: "2" }), config("dropped", {})],
  });
  await applied(deliveryOf(first));
  const second = application({
    identity: named("conf", { revision: "conf-v2", revisionNumber: 2 }),
    components: [config("kept", { a: "1" })],
  });
  await applied(deliveryOf(second));
  const kept = await plane.client.get({ type: ConfigMap, namespace: "default", name: "kept" });
  expect((kept as KubeObject & { data?: unknown }).data).toEqual({ a: "1" });
  expect(await collectGarbage(deliveryOf(second))).toMatchObject({ deleted: ["ConfigMap default/dropped"] });
});

const actors: Actors = {
  clientFor: (object) => plane.server.clientFor(object) ?? plane.client,
  clientAs: (user) => plane.server.client(user),
};

/** An Application as the server notes it, written by this user. */
const writtenBy = (user: string, annotations: Readonly<Record<string, string>> = {}): Stored => ({
  apiVersion: "core.oam.dev/v1beta1",
  kind: Application.kind,
  metadata: {
    name: "theirs",
    namespace: "default",
    uid: "u",
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
    annotations: { ...annotations, [actsForAnnotation]: JSON.stringify({ user, groups: ["system:authenticated"] }) },
  },
});

const rbac = "/apis/rbac.authorization.k8s.io/v1";

async function grant(subject: JsonObject, name: string, rule: JsonObject): Promise<void> {
  const typed = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name } };
  await plane.ask("POST", `${rbac}/clusterroles`, { body: { ...typed, kind: "ClusterRole", rules: [rule] } });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
  const body = { ...typed, kind: "ClusterRoleBinding", roleRef, subjects: [subject] };
  await plane.ask("POST", `${rbac}/clusterrolebindings`, { body });
}

const configs = { verbs: ["*"], apiGroups: [""], resources: ["configmaps"] };
const oneConfig = (name: string) =>
  component(name, "k8s-objects", {
    properties: { objects: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: {} }] },
  });

test("an application does what all of its writers may do, and nothing else", async () => {
  await grant({ kind: "User", name: "anna" }, "anna", configs);
  const app = application({ identity: named("theirs"), components: [oneConfig("by-anna")] });
  const anna = valueOf(await actingClient(actors, writtenBy("anna"), [], signal));
  expect(await applied(deliveryOf(app, anna))).toHaveLength(1);
  const ben = valueOf(
    await actingClient(actors, writtenBy("anna"), [{ user: "ben", groups: ["system:authenticated"] }], signal),
  );
  const delivery = deliveryOf(app, ben);
  const { workload } = valueOf(await delivery.render(oneConfig("by-ben")));
  const refused = await delivery.apply([workload], local, "workflow");
  expect(refused.ok ? "" : refused.error).toContain('"ben" cannot');
});

test("annotation service-account-name: the ServiceAccount acts, if the writers may impersonate it", async () => {
  await grant({ kind: "ServiceAccount", name: "deployer", namespace: "default" }, "deployer", configs);
  const account = { "app.oam.dev/service-account-name": "deployer" };
  expect(await actingClient(actors, writtenBy("carl", account), [], signal)).toEqual({
    ok: false,
    error:
      "the writers of the application may not act as ServiceAccount default/deployer: they need the right to impersonate it",
  });
  await grant({ kind: "User", name: "carl" }, "carl", {
    verbs: ["impersonate"],
    apiGroups: [""],
    resources: ["serviceaccounts"],
    resourceNames: ["deployer"],
  });
  const client = valueOf(await actingClient(actors, writtenBy("carl", account), [], signal));
  const app = application({ identity: named("robot"), components: [oneConfig("by-robot")] });
  expect(await applied(deliveryOf(app, client))).toHaveLength(1);
  const delivery = deliveryOf(app, client);
  const { workload } = valueOf(await delivery.render(web));
  const refused = await delivery.apply([workload], local, "workflow");
  expect(refused.ok ? "" : refused.error).toContain("system:serviceaccount:default:deployer");
});

const accountUser = (name: string) => ({
  user: `system:serviceaccount:default:${name}`,
  groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
});

test("attack: what a ServiceAccount wrote back does not lock its application out, nor let it act without its people", async () => {
  await grant({ kind: "ServiceAccount", name: "writer", namespace: "default" }, "writer", configs);
  const account = { "app.oam.dev/service-account-name": "writer" };
  const [carl, writer] = [{ user: "dora", groups: ["system:authenticated"] }, accountUser("writer")];
  const noted = (...writers: readonly object[]): Stored => {
    const one = writtenBy("", account);
    const annotations = { ...account, [actsForAnnotation]: JSON.stringify(writers) };
    return { ...one, metadata: { ...one.metadata, annotations } };
  };
  await grant({ kind: "User", name: "dora" }, "dora", {
    verbs: ["impersonate"],
    apiGroups: [""],
    resources: ["serviceaccounts"],
    resourceNames: ["writer"],
  });
  // A step wrote a part of it as the account, or all of it.
  for (const stored of [noted(carl, writer), noted(writer)]) {
    const client = valueOf(await actingClient(actors, stored, [], signal));
    const app = application({ identity: named("back"), components: [oneConfig("by-writer")] });
    expect(await applied(deliveryOf(app, client))).toHaveLength(1);
  }
  // Everybody else still needs the right, and reads only what they and the account may read.
  const eve = noted({ user: "eve", groups: ["system:authenticated"] }, writer);
  expect(await actingClient(actors, eve, [], signal)).toMatchObject({ ok: false });
  const ref = { type: Workflow, namespace: "default", name: "none" };
  await grant({ kind: "User", name: "dora" }, "dora-reads", {
    verbs: ["get"],
    apiGroups: ["core.oam.dev"],
    resources: ["workflows"],
  });
  await expect(readingClient(actors, noted(carl, writer)).get(ref)).rejects.toThrow("not found");
  await expect(readingClient(actors, noted(writer)).get(ref)).rejects.toThrow("cannot get");
});

test("attack: policy security limits steps to what both its account and the writers may do", async () => {
  const secrets = { verbs: ["*"], apiGroups: [""], resources: ["secrets"] };
  await grant({ kind: "User", name: "fred" }, "fred", configs);
  await grant({ kind: "ServiceAccount", name: "shop-workflow", namespace: "default" }, "shop-workflow", {
    verbs: ["*"],
    apiGroups: [""],
    resources: ["configmaps", "secrets"],
  });
  await grant({ kind: "User", name: "gwen" }, "gwen", secrets);
  const made = async (user: string | undefined, object: KubeObject): Promise<string> => {
    const stored = writtenBy(user ?? "");
    const { annotations: _none, ...metadata } = stored.metadata;
    const of = user === undefined ? { ...stored, metadata } : stored;
    const client = valueOf(limitedClient(actors, of, [], "shop-workflow"));
    const delivery = deliveryOf(application({ identity: named("limited") }), client);
    const done = await delivery.applyObject(object, local);
    return done.ok ? "done" : done.error;
  };
  const one = (kind: string, name: string): KubeObject => ({ apiVersion: "v1", kind, metadata: { name } });
  expect(await made("fred", one("ConfigMap", "limited-a"))).toBe("done");
  // The account may, and the writer may not; the writer may, and the account may not.
  expect(await made("fred", one("Secret", "limited-b"))).toContain('"fred" cannot');
  expect(await made("gwen", one("ConfigMap", "limited-c"))).toContain('"gwen" cannot');
  // An administrator's application is limited by the account alone.
  expect(await made(undefined, one("Secret", "limited-d"))).toBe("done");
  expect(await made(undefined, one("Service", "limited-e"))).toContain("system:serviceaccount:default:shop-workflow");
  const two = writtenBy("fred", { "app.oam.dev/service-account-name": "deployer" });
  expect(limitedClient(actors, two, [], "shop-workflow")).toMatchObject({
    ok: false,
    error: expect.stringContaining("remove one") as string,
  });
});

test("a cluster is joined by its kubeconfig's connection, used over HTTPS by who may use it, listed and detached", async () => {
  const connection = {
    server: east.url,
    certificateAuthority: east.ca,
    credentials: fixedCredential({ token: east.token }),
  };
  const labels = { region: "east" };
  const secret = valueOf(await clusterSecret({ name: "east", namespace: "vela-system", labels, connection }));
  await joinCluster(plane.client, secret, signal);
  await joinCluster(plane.client, secret, signal);
  expect(await connections.list()).toEqual([
    { name: "local", labels: {} },
    { name: "east", labels },
  ]);
  expect((await listClusters(plane.client, "vela-system", signal))[1]).toEqual({
    name: "east",
    endpoint: east.url,
    credential: "ServiceAccountToken",
    labels,
  });
  const app = application({ identity: named("far"), components: [oneConfig("far")] });
  await applied(deliveryOf(app), { cluster: "east" });
  const live = await east.client.get({ type: ConfigMap, namespace: "default", name: "far" });
  expect(isJsonObject(objectAt({ live } as unknown as JsonObject, "live"))).toBe(true);
  const anna = valueOf(await actingClient(actors, writtenBy("anna"), [], signal));
  expect(await connections.forApplication(anna).client("east")).toMatchObject({
    ok: false,
    error: expect.stringContaining("may not use cluster east") as string,
  });
  expect(await connections.forApplication(plane.client).client("mars")).toEqual({
    ok: false,
    error: "failed to get cluster mars",
  });
  expect(await detachCluster(plane.client, "vela-system", "east", signal)).toContain("still has objects");
  expect(await releaseApplication(deliveryOf(app))).toMatchObject({ deleted: ["ConfigMap default/far"] });
  expect(await detachCluster(plane.client, "vela-system", "east", signal)).toBeUndefined();
  expect(await connections.list()).toHaveLength(1);
});
