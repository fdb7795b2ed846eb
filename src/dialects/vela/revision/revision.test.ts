import { beforeEach, expect, test } from "vitest";
import { FakeClock, type JsonObject, objectAt, textAt } from "#lib/base/index.ts";
import { asJson, ConfigMap, Secret, type Stored } from "#kernel/model/index.ts";
import { Application, ApplicationRevision } from "../kinds.ts";
import type { RenderedObject } from "../render/rendered.ts";
import { application, component, identity, policy, testClient, testDefinitions } from "../testing/fixtures.ts";
import { decideRevision, type RevisionChoice } from "./decide.ts";
import { rollbackSource } from "./history.ts";
import { renderedData } from "./rendered-resources.ts";
import { decodeSnapshot, encodeSnapshot, type Snapshot, snapshotDefinitions, snapshotOf } from "./snapshot.ts";
import {
  ensureRevision,
  listRevisions,
  pruneRevisions,
  readRenderedResources,
  recordRun,
  type RevisionParts,
  writeRenderedResources,
} from "./store.ts";

let parts: RevisionParts;
let app: Stored;

beforeEach(async () => {
  const client = testClient();
  parts = { client, clock: new FakeClock(), signal: new AbortController().signal };
  app = await client.create(Application, {
    apiVersion: "core.oam.dev/v1beta1",
    kind: "Application",
    metadata: { name: "shop", namespace: "default" },
    spec: { components: [] },
  });
});

const snapshot = (image: string, template = "a"): Snapshot => ({
  application: { metadata: { name: "shop" }, spec: { components: [{ name: "web", properties: { image } }] } },
  definitions: {
    component: { webservice: { spec: { schematic: { cue: { template } } } } },
    trait: {},
    policy: {},
    "workflow-step": {},
  },
  policies: {},
  referredObjects: [],
});

async function decide(
  now: Snapshot,
  annotations: Record<string, string> = {},
  lastNumber = 0,
): Promise<RevisionChoice> {
  const revisions = await listRevisions(parts, app);
  return decideRevision({ name: "shop", annotations, snapshot: now, revisions, lastNumber });
}

async function publish(now: Snapshot, annotations: Record<string, string> = {}): Promise<RevisionChoice> {
  const choice = await decide(now, annotations);
  await ensureRevision(parts, app, choice, []);
  return choice;
}

test("17.18 the same spec makes no new revision; another one does; an older one is used again", async () => {
  expect(await publish(snapshot("a"))).toMatchObject({ name: "shop-v1", number: 1, isPinned: false });
  expect(await decide(snapshot("a"))).toMatchObject({ name: "shop-v1", existing: { metadata: { name: "shop-v1" } } });
  expect(await publish(snapshot("b"))).toMatchObject({ name: "shop-v2" });
  expect(await decide(snapshot("a"))).toMatchObject({ name: "shop-v1", existing: {} });
});

test("17.18 a changed definition makes no revision without autoUpdate, and exactly one with it", async () => {
  const first = await publish(snapshot("a", "one"));
  const kept = await decide(snapshot("a", "two"));
  expect(kept.name).toBe("shop-v1");
  expect(kept.snapshot.definitions).toEqual(first.snapshot.definitions);
  const automatic = { "app.oam.dev/autoUpdate": "true" };
  expect(await publish(snapshot("a", "two"), automatic)).toMatchObject({ name: "shop-v2" });
  expect(await decide(snapshot("a", "two"), automatic)).toMatchObject({ name: "shop-v2", existing: {} });
});

test("17.18 with a publishVersion the spec is that of the revision until the version is bumped", async () => {
  const one = { "app.oam.dev/publishVersion": "one" };
  await publish(snapshot("a"), one);
  const pinned = await decide(snapshot("b"), one);
  expect(pinned).toMatchObject({ name: "shop-v1", isPinned: true, publishVersion: "one" });
  expect(pinned.snapshot.application["spec"]).toEqual(snapshot("a").application["spec"]);
  const bumped = await decide(snapshot("b"), { "app.oam.dev/publishVersion": "two" });
  expect(bumped).toMatchObject({ name: "shop-v2", isPinned: false });
  // The same spec under another version is a new revision, too.
  expect(await decide(snapshot("a"), { "app.oam.dev/publishVersion": "two" })).toMatchObject({ name: "shop-v2" });
});

test("17.18 numbers grow even if the latest revision is gone", async () => {
  await publish(snapshot("a"));
  expect(await decide(snapshot("b"), {}, 7)).toMatchObject({ name: "shop-v8" });
});

test("17.18 a limit of three keeps three revisions, and those in use", async () => {
  for (const image of ["a", "b", "c", "d", "e"]) await publish(snapshot(image));
  await pruneRevisions(parts, await listRevisions(parts, app), new Set(["shop-v1", "shop-v5"]), 3);
  const left = await listRevisions(parts, app);
  expect(left.map(({ metadata }) => metadata.name)).toEqual(["shop-v1", "shop-v4", "shop-v5"]);
});

test("17.18 a rollback goes to the latest other revision that succeeded", async () => {
  for (const image of ["a", "b", "c"]) await publish(snapshot(image));
  const revisions = await listRevisions(parts, app);
  for (const revision of revisions.slice(0, 2)) await recordRun(parts, revision, { succeeded: true });
  const after = await listRevisions(parts, app);
  expect(rollbackSource(after, "shop-v3")?.metadata.name).toBe("shop-v2");
  expect(rollbackSource(after, "shop-v2")?.metadata.name).toBe("shop-v1");
  expect(rollbackSource(after.slice(2), "shop-v2")).toBeUndefined();
});

test("a large revision is stored compressed and read as it was", () => {
  const large = snapshot("x".repeat(100_000));
  const encoded = encodeSnapshot(large);
  expect(JSON.stringify(encoded).length).toBeLessThan(10_000);
  expect(textAt(encoded, "compression", "type")).toBe("gzip");
  const stored = { apiVersion: "v1", kind: "R", metadata: { name: "r" }, spec: encoded };
  expect(decodeSnapshot(stored)).toEqual({ ...large, writers: [] });
  expect(objectAt(encodeSnapshot(snapshot("a")), "compression")).toBeUndefined();
});

test("a snapshot has the definitions in use, which then win over the present ones", async () => {
  const used = application({
    identity: identity(),
    components: [component("web", "webservice", { traits: [{ type: "scaler", properties: {} }] })],
    policies: [policy("security", {})],
  });
  const before = testDefinitions({ "component/webservice": { a: 1 }, "trait/scaler": {}, "trait/other": {} });
  const taken = await snapshotOf(app, used, before, { policies: {}, referredObjects: [] });
  expect(Object.keys(taken.definitions.component)).toEqual(["webservice"]);
  expect(Object.keys(taken.definitions.trait)).toEqual(["scaler"]);
  const kept = snapshotDefinitions(
    taken,
    testDefinitions({ "component/webservice": { a: 2 }, "trait/other": { b: 1 } }),
  );
  expect(await kept.find("component", "webservice", "default")).toMatchObject({
    template: "webservice",
    spec: { a: 1 },
  });
  expect(await kept.find("trait", "other", "default")).toMatchObject({ spec: { b: 1 } });
});

const rendered = (key: string, kind: string, more: JsonObject): RenderedObject => ({
  key,
  role: "WORKLOAD",
  object: { apiVersion: kind === "Deployment" ? "apps/v1" : "v1", kind, metadata: { name: key }, ...more },
});

test("17.2 the ConfigMap of a revision has the objects by key, and no rendered Secret", async () => {
  const choice = await decide(snapshot("a"));
  const objects = [
    rendered("mysvc", "Deployment", { spec: { replicas: 1 } }),
    rendered("login", "Secret", { stringData: { password: "hunter2" } }),
  ];
  const revision = await ensureRevision(parts, app, choice, objects);
  expect(objectAt(asJson(revision), "spec", "resourcesConfigMap")).toEqual({ name: "shop-v1" });
  await writeRenderedResources(parts, revision, objects);
  const map = asJson(await parts.client.get({ type: ConfigMap, namespace: "default", name: "shop-v1" }));
  expect(JSON.parse(textAt(map, "data", "mysvc") ?? "")).toMatchObject({ kind: "Deployment", spec: { replicas: 1 } });
  expect(JSON.parse(textAt(map, "data", "login") ?? "")).toEqual({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "login", labels: {} },
    "x-in-secret": true,
  });
  expect(JSON.stringify(map)).not.toContain("hunter2");
  expect(objectAt(map, "metadata")?.["ownerReferences"]).toMatchObject([{ uid: revision.metadata.uid }]);
  const secret = await parts.client.get({ type: Secret, namespace: "default", name: "shop-v1" });
  expect(secret.metadata.ownerReferences).toMatchObject([{ uid: revision.metadata.uid }]);
  const read = await readRenderedResources(parts, revision);
  expect(read.get("login")).toMatchObject({ stringData: { password: "hunter2" } });
  expect(read.get("mysvc")).toMatchObject({ kind: "Deployment" });
});

test("17.20 writing the same data again changes nothing, and changed data is replaced", async () => {
  const objects = [rendered("a", "ConfigMap", { data: { a: "1" } })];
  const revision = await ensureRevision(parts, app, await decide(snapshot("a")), objects);
  await writeRenderedResources(parts, revision, objects);
  const ref = { type: ConfigMap, namespace: "default", name: "shop-v1" };
  const first = await parts.client.get(ref);
  await writeRenderedResources(parts, revision, objects);
  expect((await parts.client.get(ref)).metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  await writeRenderedResources(parts, revision, [rendered("a", "ConfigMap", { data: { a: "2" } })]);
  expect(JSON.stringify(await parts.client.get(ref))).toContain('\\"a\\":\\"2\\"');
});

test("attack: rendered objects that another client edits, adds or deletes are not read", async () => {
  const objects = [
    rendered("a", "ConfigMap", { data: { a: "1" } }),
    rendered("b", "Secret", { stringData: { b: "2" } }),
  ];
  const revision = await ensureRevision(parts, app, await decide(snapshot("a")), objects);
  await writeRenderedResources(parts, revision, objects);
  const refused = "the rendered objects of ApplicationRevision default/shop-v1 were changed by another client";
  const ref = (type: typeof ConfigMap) => ({ type, namespace: "default", name: "shop-v1" });
  const forged = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "forged" } });
  for (const [type, text] of [
    [ConfigMap, forged],
    [Secret, Buffer.from(forged).toString("base64")],
  ] as const)
    for (const key of ["a", "b", "more"]) {
      await parts.client.patch(ref(type), { type: "merge", body: { data: { [key]: text } } });
      await expect(readRenderedResources(parts, revision)).rejects.toThrow(refused);
      // The controller's own next write restores them.
      await writeRenderedResources(parts, revision, objects);
      expect((await readRenderedResources(parts, revision)).size).toBe(2);
    }
  await parts.client.delete(ref(ConfigMap));
  await expect(readRenderedResources(parts, revision)).rejects.toThrow(refused);
});

test("bad input: rendered objects over 1 MiB are split into shards, which the revision lists", async () => {
  const objects = ["a", "b", "c"].map((key) => rendered(key, "ConfigMap", { data: { text: "x".repeat(500_000) } }));
  const { configMaps } = renderedData("shop-v1", objects);
  expect(Object.entries(configMaps).map(([name, data]) => [name, Object.keys(data)])).toEqual([
    ["shop-v1", ["a"]],
    ["shop-v1-2", ["b"]],
    ["shop-v1-3", ["c"]],
  ]);
  const revision = await ensureRevision(parts, app, await decide(snapshot("a")), objects);
  expect(objectAt(asJson(revision), "spec", "resourcesConfigMap")).toEqual({
    name: "shop-v1",
    shards: ["shop-v1", "shop-v1-2", "shop-v1-3"],
  });
  await writeRenderedResources(parts, revision, objects);
  expect([...(await readRenderedResources(parts, revision)).keys()]).toEqual(["a", "b", "c"]);
  // What is rendered later may be smaller.
  await writeRenderedResources(parts, revision, objects.slice(0, 1));
  expect([...(await readRenderedResources(parts, revision)).keys()]).toEqual(["a"]);
});

test("a revision of the same name and another content is refused", async () => {
  await publish(snapshot("a"));
  const other = decideRevision({
    name: "shop",
    annotations: {},
    snapshot: snapshot("b"),
    revisions: [],
    lastNumber: 0,
  });
  await expect(ensureRevision(parts, app, other, [])).rejects.toThrow("already exists with different content");
});

test("someone else's ConfigMap in the place of the revision's is refused", async () => {
  await parts.client.create(ConfigMap, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "shop-v1", namespace: "default" },
  });
  const revision = await ensureRevision(parts, app, await decide(snapshot("a")), []);
  await expect(writeRenderedResources(parts, revision, [])).rejects.toThrow("is not of the revision");
  expect((await parts.client.list(ApplicationRevision)).items).toHaveLength(1);
});
