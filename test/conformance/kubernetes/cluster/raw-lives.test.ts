import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { type Answered, type Api, type Ask, openApi } from "./suite/api.ts";

// 49. Objects whose owners, kinds or statuses are not as they should be: what becomes of them, on every Kubernetes.

let api: Api;
const namespace = `conf-${randomBytes(4).toString("hex")}`;
const other = `${namespace}-other`;
const maps = `/api/v1/namespaces/${namespace}/configmaps`;
const group = `${namespace}.example.org`;
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const things = `/apis/${group}/v1/namespaces/${namespace}/things`;

beforeAll(async () => {
  api = await openApi(inject("kubeconfig"));
  for (const name of [namespace, other])
    await create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  await create(definitions, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });
  // Elsewhere a definition takes a moment until it is served.
  await vi.waitFor(async () => expect((await api.ask("GET", things)).status).toBe(200), { timeout: 60_000 });
});
afterAll(async () => {
  await api.ask("DELETE", `${definitions}/things.${group}`);
  for (const name of [namespace, other]) await api.ask("DELETE", `/api/v1/namespaces/${name}`);
  api.close();
});

async function create(path: string, body: object): Promise<Answered> {
  const answer = await api.ask("POST", path, { body });
  expect(answer.status, answer.text).toBe(201);
  return answer;
}
const map = (name: string, more: object = {}) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...more } });
const merge = (body: object): Ask => ({
  bytes: JSON.stringify(body),
  headers: { "Content-Type": "application/merge-patch+json" },
});
const ownedBy = (name: string, { json }: Answered) => ({
  ownerReferences: [
    { apiVersion: "v1", kind: "ConfigMap", name, uid: json["metadata"]?.["uid"], blockOwnerDeletion: true },
  ],
});

test("two objects that own each other go when one is deleted in the foreground", async () => {
  const first = await create(maps, map("first"));
  const second = await create(maps, map("second", ownedBy("first", first)));
  expect((await api.ask("PATCH", `${maps}/first`, merge({ metadata: ownedBy("second", second) }))).status).toBe(200);
  const options = { body: { propagationPolicy: "Foreground" } };
  expect((await api.ask("DELETE", `${maps}/first`, options)).status).toBe(200);
  for (const name of ["first", "second"])
    await expect.poll(async () => (await api.ask("GET", `${maps}/${name}`)).status).toBe(404);
});

test("an owner in another namespace is told of as an event", async () => {
  const owner = await create(maps, map("owner"));
  await create(`/api/v1/namespaces/${other}/configmaps`, map("far", ownedBy("owner", owner)));
  const told = `/api/v1/namespaces/${other}/events?fieldSelector=reason%3DOwnerRefInvalidNamespace`;
  await expect.poll(async () => (await api.ask("GET", told)).text).toContain('"name":"far"');
});

test("whole numbers that a double cannot hold come back as they were, or are refused", async () => {
  for (const number of ["9007199254740993", "-9223372036854775808"]) {
    const text = `{"apiVersion":"${group}/v1","kind":"Thing","metadata":{"generateName":"n"},"n":${number}}`;
    const { status, text: told } = await api.ask("POST", things, {
      bytes: text,
      headers: { "Content-Type": "application/json" },
    });
    if (status !== 400) expect([status, told]).toEqual([201, expect.stringContaining(`"n":${number}`)]);
  }
});

test("a write to the status of a Deployment leaves its spec alone", async () => {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  const deployment = (replicas: number) => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "none" },
    spec: {
      replicas,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "busybox" }] } },
    },
  });
  await create(path, deployment(0));
  const { status, text } = await api.ask("PUT", `${path}/none/status`, { body: deployment(3) });
  expect(status, text).toBe(200);
  expect((await api.ask("GET", `${path}/none`)).json["spec"]).toMatchObject({ replicas: 0 });
});

test("a watch of zero seconds has the time that the server gives", async () => {
  await create(maps, map("seen"));
  const watch = await api.watch(`${maps}?watch=1&timeoutSeconds=0&fieldSelector=metadata.name%3Dseen`);
  expect(await watch.next()).toMatchObject({ type: "ADDED" });
  expect((await api.ask("PATCH", `${maps}/seen`, merge({ data: { a: "b" } }))).status).toBe(200);
  expect(await watch.next()).toMatchObject({ type: "MODIFIED" });
  watch.close();
});

// Last: the kind is gone after it.
test("a watch ends after the last object of a definition that is deleted; then there is nothing", async () => {
  await create(things, { apiVersion: `${group}/v1`, kind: "Thing", metadata: { name: "last" } });
  const watch = await api.watch(`${things}?watch=1&fieldSelector=metadata.name%3Dlast`);
  expect(await watch.next()).toMatchObject({ type: "ADDED" });
  expect((await api.ask("DELETE", `${definitions}/things.${group}`)).status).toBe(200);
  const types: string[] = [];
  for (let event = await watch.next(); event !== undefined; event = await watch.next()) types.push(event.type);
  expect(types.filter((type) => type !== "MODIFIED")).toEqual(["DELETED"]);
  await expect.poll(async () => (await api.ask("GET", things)).status).toBe(404);
});
