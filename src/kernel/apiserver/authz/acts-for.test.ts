import { afterAll, beforeAll, expect, test } from "vitest";
import { type ApiClient } from "#kernel/kit/index.ts";
import { actsForAnnotation, apiVersionOf, type KubeObject, type ResourceType } from "#kernel/model/index.ts";
import type { JsonObject } from "#lib/base/index.ts";
import { ClusterRole, ClusterRoleBinding, Role } from "../kinds/rbac.ts";
import { startTestServer, type TestServer } from "../testing/index.ts";

// The client of an object that several people have written: what one of them may not do is not done.

const ConfigMap: ResourceType = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true };
const review: ResourceType = {
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
};

let api: TestServer;
const make = (client: ApiClient, type: ResourceType, name: string, more: JsonObject) =>
  client.create(type, {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: { name, ...(type.namespaced ? { namespace: "default" } : {}) },
    ...more,
  });
/** The client for an object with this note, and with these in its status. */
const clientOf = (writers: readonly string[], more: readonly string[] = []): ApiClient => {
  const noted = (names: readonly string[]) => names.map((user) => ({ user, groups: ["system:authenticated"] }));
  const metadata = { name: "x", annotations: { [actsForAnnotation]: JSON.stringify(noted(writers)) } };
  const object = { apiVersion: "v1", kind: "Thing", metadata, status: { actsFor: noted(more) } };
  const client = api.server.clientFor(object);
  if (client === undefined) throw new Error("an administrator's");
  return client;
};

beforeAll(async () => {
  api = await startTestServer();
  const rules: Readonly<Record<string, JsonObject[]>> = {
    reads: [{ verbs: ["get", "list"], apiGroups: [""], resources: ["configmaps"] }],
    writes: [
      { verbs: ["*"], apiGroups: [""], resources: ["configmaps"] },
      { verbs: ["create"], apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles"] },
    ],
  };
  for (const [name, list] of Object.entries(rules)) {
    await make(api.client, ClusterRole, name, { rules: list });
    await make(api.client, ClusterRoleBinding, name, {
      roleRef: { kind: "ClusterRole", name },
      subjects: [{ kind: "User", name }, ...(name === "writes" ? [{ kind: "User", name: "writes-too" }] : [])],
    });
  }
  await make(api.client, ConfigMap, "there", {});
});
afterAll(() => api.close());

test("what nobody is noted for is an administrator's", () => {
  const object = { apiVersion: "v1", kind: "Thing", metadata: { name: "x" } };
  expect(api.server.clientFor(object)).toBeUndefined();
});

test.each([
  ["reads, writes", ["reads", "writes"], []],
  ["writes, reads", ["writes", "reads"], []],
  ["writes, and reads in the status", ["writes"], ["reads"]],
])("the client of %s reads and does not write", async (_text, writers, more) => {
  const client = clientOf(writers, more);
  const ref = { type: ConfigMap, namespace: "default", name: "there" };
  expect((await client.get(ref)).metadata.name).toBe("there");
  expect((await client.list(ConfigMap, { namespace: "default" })).items).not.toEqual([]);
  const refused = { code: 403, message: expect.stringContaining('User "reads" cannot') };
  const merge = { type: "merge", body: { data: { a: "b" } } } as const;
  await expect(make(client, ConfigMap, "new", {})).rejects.toMatchObject(refused);
  await expect(client.patch(ref, merge)).rejects.toMatchObject(refused);
  await expect(client.update(ConfigMap, await client.get(ref))).rejects.toMatchObject(refused);
  await expect(client.delete(ref)).rejects.toMatchObject(refused);
  await expect(client.deleteCollection(ConfigMap, { namespace: "default" })).rejects.toMatchObject(refused);
});

test("what all of them may do is done", async () => {
  await make(clientOf(["writes", "writes-too"]), ConfigMap, "of-both", {});
  expect(
    (await clientOf(["reads", "writes"]).get({ type: ConfigMap, namespace: "default", name: "of-both" })).kind,
  ).toBe("ConfigMap");
});

test("a role holds at most what each of them has", async () => {
  const rules = [{ verbs: ["list"], apiGroups: [""], resources: ["configmaps"] }];
  await make(clientOf(["writes", "writes-too"]), Role, "small", { rules });
  await make(api.client, ClusterRoleBinding, "reads-roles", {
    roleRef: { kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "User", name: "root" }],
  });
  const large = [{ verbs: ["list"], apiGroups: [""], resources: ["nodes"] }];
  await make(clientOf(["root"]), Role, "large", { rules: large });
  for (const writers of [
    ["root", "writes"],
    ["writes", "root"],
  ])
    await expect(make(clientOf(writers), Role, "too-large", { rules: large })).rejects.toMatchObject({
      message: expect.stringContaining("not currently held"),
    });
});

test("a review of access allows what all of them may do", async () => {
  const isAllowed = async (verb: string, ...writers: readonly string[]) => {
    const resourceAttributes = { verb, resource: "configmaps", namespace: "default" };
    const asked = { apiVersion: apiVersionOf(review), kind: review.kind, metadata: {}, spec: { resourceAttributes } };
    return (await clientOf(writers).create<KubeObject & { readonly status?: JsonObject }>(review, asked)).status?.[
      "allowed"
    ];
  };
  expect(await isAllowed("get", "reads", "writes")).toBe(true);
  expect(await isAllowed("create", "reads", "writes")).toBe(false);
  expect(await isAllowed("create", "writes", "reads")).toBe(false);
});
