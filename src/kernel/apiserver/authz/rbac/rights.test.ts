import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apiVersionOf, type ResourceType, Secret } from "#kernel/model/index.ts";
import type { JsonObject } from "#lib/base/index.ts";
import { startTestServer, type TestServer } from "../../testing/index.ts";
import { waitUntil } from "../../testing/wait-until.ts";
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "../../kinds/rbac.ts";
import type { Identity } from "../identity.ts";

// What people with few rights can do about rights, through the client of this process: the same verbs as over HTTP.

let api: TestServer;
beforeAll(async () => {
  api = await startTestServer();
});
afterAll(() => api.close());

const user = (name: string, ...groups: readonly string[]): Identity => ({
  user: name,
  groups: [...groups, "system:authenticated"],
});
const make = (type: ResourceType, name: string, more: JsonObject, as?: Identity) =>
  api.server.client(as).create(type, {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: { name, ...(type.namespaced ? { namespace: "default" } : {}) },
    ...more,
  });
const bind = (name: string, role: string, subject: string, as?: Identity) =>
  make(
    RoleBinding,
    name,
    { roleRef: { kind: "ClusterRole", name: role }, subjects: [{ kind: "User", name: subject }] },
    as,
  );
const readPods = { rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }] };
const ask = (type: string, spec: JsonObject, as: Identity, namespace = "") => {
  const group = type.endsWith("accessreviews") || type.endsWith("rulesreviews") ? "authorization" : "authentication";
  const names: Readonly<Record<string, string>> = {
    selfsubjectreviews: "SelfSubjectReview",
    tokenreviews: "TokenReview",
    selfsubjectaccessreviews: "SelfSubjectAccessReview",
    selfsubjectrulesreviews: "SelfSubjectRulesReview",
    subjectaccessreviews: "SubjectAccessReview",
    localsubjectaccessreviews: "LocalSubjectAccessReview",
  };
  const resource = {
    group: `${group}.k8s.io`,
    version: "v1",
    kind: names[type] ?? "",
    plural: type,
    namespaced: type.startsWith("local"),
  };
  return api.server.client(as).create(resource, {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: namespace === "" ? {} : { namespace },
    spec,
  } as never) as Promise<unknown>;
};

describe("the first roles", () => {
  test("are Kubernetes' own, each aggregate with the rules of what it gathers", async () => {
    const roles = await api.client.list(ClusterRole);
    expect(roles.items.map(({ metadata }) => metadata.name)).toEqual(
      expect.arrayContaining(["admin", "cluster-admin", "edit", "system:basic-user", "system:discovery", "view"]),
    );
    const rules = async (name: string) => JSON.stringify(await api.client.get({ type: ClusterRole, name }));
    expect(await rules("view")).not.toContain('"secrets"');
    expect(await rules("edit")).toContain('"secrets"');
    expect(await rules("edit")).not.toContain('"rolebindings"');
    expect(await rules("admin")).toContain('"rolebindings"');
  });

  test("let everybody ask about himself, and nobody read objects", async () => {
    const eve = user("eve");
    expect(await ask("selfsubjectreviews", {}, eve)).toMatchObject({
      status: { userInfo: { username: "eve", groups: ["system:authenticated"] } },
    });
    await expect(api.server.client(eve).list(Role, { namespace: "default" })).rejects.toMatchObject({
      code: 403,
      message: `roles.rbac.authorization.k8s.io is forbidden: User "eve" cannot list resource "roles" in API group "rbac.authorization.k8s.io" in the namespace "default"`,
    });
  });

  test("gather what is marked for them, until it goes", async () => {
    const labels = { "rbac.authorization.k8s.io/aggregate-to-view": "true" };
    const client = api.client;
    await client.create(ClusterRole, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "gathered", labels },
      rules: [{ verbs: ["get"], apiGroups: ["demo.example"], resources: ["gadgets"] }],
    } as never);
    const holds = (name: string) => async () =>
      JSON.stringify(await client.get({ type: ClusterRole, name })).includes("gadgets");
    for (const name of ["view", "edit", "admin"]) await waitUntil(holds(name));
    await client.delete({ type: ClusterRole, name: "gathered" });
    for (const name of ["view", "edit", "admin"]) await waitUntil(async () => !(await holds(name)()));
  });
});

test("rights to one name allow lists and watches that are narrowed to it, and no deletion of collections", async () => {
  const verbs = ["list", "watch", "deletecollection"];
  await make(ClusterRole, "named", {
    rules: [{ verbs, apiGroups: [""], resources: ["secrets"], resourceNames: ["own"] }],
  });
  await bind("named", "named", "nina");
  const allowed = ["metadata.name=own", "metadata.name==own,type!=x", "type=x,metadata.name=own"];
  const refused = [
    "",
    "metadata.name=other",
    "metadata.name!=own",
    "type=own",
    "metadata.name=",
    "metadata.name=own\\,",
  ];
  const secrets = "/api/v1/namespaces/default/secrets";
  const headers = { "Impersonate-User": "nina" };
  const statusOf = async (selector: string) =>
    (await api.ask("GET", `${secrets}?fieldSelector=${encodeURIComponent(selector)}`, { headers })).status;
  expect(await Promise.all(allowed.map(statusOf))).toEqual(allowed.map(() => 200));
  expect(await Promise.all(refused.map(statusOf))).toEqual(refused.map(() => 403));
  const watch = await api.watch(`${secrets}?watch=1&fieldSelector=metadata.name%3Down`, headers);
  expect(watch.status).toBe(200);
  watch.close();
  const nina = api.server.client(user("nina"));
  const own = { namespace: "default", fieldSelector: "metadata.name=own" };
  expect((await nina.list(Secret, own)).items).toEqual([]);
  await expect(nina.deleteCollection(Secret, own)).rejects.toMatchObject({ code: 403 });
  expect((await api.ask("DELETE", `${secrets}?fieldSelector=metadata.name%3Down`, { headers })).status).toBe(403);
});

describe("nobody gives what he does not have", () => {
  const boss = user("boss");
  beforeAll(async () => {
    await bind("boss-admin", "admin", "boss");
    await make(ClusterRole, "everything-in-pods", readPods);
    await make(ClusterRole, "all-nodes", { rules: [{ verbs: ["*"], apiGroups: [""], resources: ["nodes"] }] });
  });

  test("an administrator of a namespace makes roles of what he may do himself", async () => {
    await make(Role, "pod-readers", readPods, boss);
    await bind("gives-view", "view", "someone", boss);
    expect(
      await api.server
        .client(user("someone"))
        .list({ group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true }, { namespace: "default" }),
    ).toMatchObject({ kind: "PodList" });
  });

  test("and no others", async () => {
    const rule = { verbs: ["get", "delete"], apiGroups: [""], resources: ["nodes", "pods"] };
    await expect(make(Role, "too-much", { rules: [rule] }, boss)).rejects.toMatchObject({
      code: 403,
      message: `roles.rbac.authorization.k8s.io "too-much" is forbidden: user "boss" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{"verbs":["get"],"apiGroups":[""],"resources":["nodes"]}\n{"verbs":["delete"],"apiGroups":[""],"resources":["nodes"]}`,
    });
    await expect(bind("too-much", "all-nodes", "boss", boss)).rejects.toMatchObject({ code: 403 });
    await expect(bind("nothing", "missing", "boss", boss)).rejects.toMatchObject({
      message: expect.stringContaining('clusterroles.rbac.authorization.k8s.io "missing" not found'),
    });
  });

  test("a role cannot grow beyond its writer, and one that is beyond him can only be let go", async () => {
    await make(Role, "grows", { rules: [{ verbs: ["get"], apiGroups: [""], resources: ["nodes"] }] });
    const ref = { type: Role, namespace: "default", name: "grows" };
    const client = api.server.client(boss);
    const labelled = { type: "merge", body: { metadata: { labels: { a: "b" } } } } as const;
    await expect(client.patch(ref, labelled)).rejects.toMatchObject({ code: 403 });
    await client.patch(ref, { type: "merge", body: { metadata: { finalizers: ["demo.example/held"] } } });
    await client.patch(ref, { type: "merge", body: { metadata: { finalizers: null } } });
    const rules = [{ verbs: ["get", "list"], apiGroups: [""], resources: ["nodes"] }];
    await expect(client.patch(ref, { type: "merge", body: { rules } })).rejects.toMatchObject({ code: 403 });
    await client.patch(ref, { type: "merge", body: { rules: readPods.rules } });
  });

  test("escalate and bind are rights of their own", async () => {
    const verbs = (verb: string, resources: readonly string[]) => ({
      rules: [{ verbs: [verb], apiGroups: ["rbac.authorization.k8s.io"], resources }],
    });
    await make(ClusterRole, "escalates", verbs("escalate", ["roles"]));
    await make(ClusterRole, "binds", {
      rules: [{ ...verbs("bind", ["clusterroles"]).rules[0], resourceNames: ["all-nodes"] }],
    });
    for (const role of ["admin", "escalates", "binds"]) await bind(`special-${role}`, role, "special");
    const special = user("special");
    await make(Role, "escalated", { rules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }] }, special);
    await bind("bound", "all-nodes", "friend", special);
    await expect(bind("not-bound", "cluster-admin", "friend", special)).rejects.toMatchObject({ code: 403 });
  });

  test("an aggregated role asks for everything", async () => {
    await make(ClusterRole, "role-writer", {
      rules: [{ verbs: ["*"], apiGroups: ["rbac.authorization.k8s.io"], resources: ["clusterroles"] }],
    });
    await make(ClusterRoleBinding, "role-writers", {
      roleRef: { kind: "ClusterRole", name: "role-writer" },
      subjects: [{ kind: "User", name: "writer" }],
    });
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] };
    // `*` on clusterroles holds escalate.
    await make(ClusterRole, "mine", { aggregationRule }, user("writer"));
    await bind("no-escalate", "admin", "limited");
    await expect(make(ClusterRole, "theirs", { aggregationRule }, user("limited"))).rejects.toMatchObject({
      code: 403,
    });
  });

  test("nor does one reach others by a label, which puts it into the roles that gather it", async () => {
    await make(ClusterRole, "labeler", {
      rules: [{ verbs: ["patch", "update"], apiGroups: ["rbac.authorization.k8s.io"], resources: ["clusterroles"] }],
    });
    await make(ClusterRoleBinding, "labelers", {
      roleRef: { kind: "ClusterRole", name: "labeler" },
      subjects: [{ kind: "User", name: "labeler" }],
    });
    await bind("labeler-views", "view", "labeler");
    const labels = { "rbac.authorization.k8s.io/aggregate-to-view": "true" };
    for (const [name, change] of [
      ["cluster-admin", { metadata: { labels } }],
      ["view", { aggregationRule: null, rules: [] }],
    ] as const)
      await expect(
        api.server.client(user("labeler")).patch({ type: ClusterRole, name }, { type: "merge", body: change }),
      ).rejects.toMatchObject({ code: 403 });
  });

  test("an apply that creates needs the right to create", async () => {
    await make(Role, "patcher", { rules: [{ verbs: ["patch"], apiGroups: [""], resources: ["configmaps"] }] });
    await make(RoleBinding, "patchers", {
      roleRef: { kind: "Role", name: "patcher" },
      subjects: [{ kind: "User", name: "patcher" }],
    });
    const type = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true };
    const ref = { type, namespace: "default", name: "applied" };
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied" }, data: { a: "b" } };
    const apply = () =>
      api.server.client(user("patcher")).patch(ref, { type: "apply", body }, { fieldManager: "test" });
    await expect(apply()).rejects.toMatchObject({ code: 403, message: expect.stringContaining("cannot create") });
    await api.client.create(type, { ...body, metadata: { name: "applied", namespace: "default" } });
    await apply();
  });
});

describe("questions about rights", () => {
  const resourceAttributes = { verb: "get", resource: "pods", namespace: "default" };
  const dora = user("dora");
  beforeAll(() => bind("dora-views", "view", "dora"));

  test("may I", async () => {
    const review = (spec: JsonObject) => ask("selfsubjectaccessreviews", spec, dora);
    expect(await review({ resourceAttributes })).toMatchObject({
      status: {
        allowed: true,
        reason: 'RBAC: allowed by RoleBinding "dora-views/default" of ClusterRole "view" to User "dora"',
      },
    });
    expect(await review({ resourceAttributes: { ...resourceAttributes, subresource: "log" } })).toMatchObject({
      status: { allowed: true },
    });
    expect(await review({ resourceAttributes: { ...resourceAttributes, resource: "secrets" } })).toMatchObject({
      status: { allowed: false },
    });
    expect(await review({ nonResourceAttributes: { verb: "get", path: "/api" } })).toMatchObject({
      status: { allowed: true },
    });
    // kubectl 1.20 sends the status of a new object, with lists that are null.
    const type = {
      group: "authorization.k8s.io",
      version: "v1",
      kind: "SelfSubjectRulesReview",
      plural: "selfsubjectrulesreviews",
      namespaced: false,
    };
    const rules = await api.server.client(dora).create(type, {
      apiVersion: "authorization.k8s.io/v1",
      kind: type.kind,
      metadata: {},
      spec: { namespace: "default" },
      status: { resourceRules: null, nonResourceRules: null, incomplete: false },
    } as never);
    expect(rules).toMatchObject({ status: { incomplete: false } });
    expect(await review({ nonResourceAttributes: { verb: "get", path: "/metrics" } })).toMatchObject({
      status: { allowed: false },
    });
    for (const spec of [{}, { resourceAttributes, nonResourceAttributes: { verb: "get", path: "/" } }])
      await expect(review(spec)).rejects.toMatchObject({
        code: 422,
        message: expect.stringContaining("exactly one of nonResourceAttributes or resourceAttributes"),
      });
  });

  test("what may I", async () => {
    expect(await ask("selfsubjectrulesreviews", { namespace: "default" }, dora)).toMatchObject({
      status: {
        incomplete: false,
        resourceRules: expect.arrayContaining([
          { verbs: ["create"], apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"] },
        ]),
        nonResourceRules: expect.arrayContaining([expect.objectContaining({ verbs: ["get"] })]),
      },
    });
    await expect(ask("selfsubjectrulesreviews", {}, dora)).rejects.toMatchObject({ code: 400 });
  });

  test("may somebody: only for those who may ask it", async () => {
    await expect(ask("subjectaccessreviews", { user: "dora", resourceAttributes }, dora)).rejects.toMatchObject({
      code: 403,
    });
    const root = user("root", "system:masters");
    expect(await ask("subjectaccessreviews", { user: "dora", resourceAttributes }, root)).toMatchObject({
      status: { allowed: true },
    });
    expect(await ask("subjectaccessreviews", { groups: ["system:masters"], resourceAttributes }, root)).toMatchObject({
      status: { allowed: true },
    });
    await expect(ask("subjectaccessreviews", { resourceAttributes }, root)).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining("at least one of user or group must be specified"),
    });
  });

  test("may somebody here: asked by the administrator of a namespace, about it alone", async () => {
    await bind("local-admin", "admin", "local");
    const review = (namespace: string) =>
      ask(
        "localsubjectaccessreviews",
        { user: "dora", resourceAttributes: { ...resourceAttributes, namespace } },
        user("local"),
        "default",
      );
    expect(await review("default")).toMatchObject({ status: { allowed: true } });
    await expect(review("kube-system")).rejects.toMatchObject({ code: 422 });
  });

  test("whose token: nobody's is told so", async () => {
    const root = user("root", "system:masters");
    expect(await ask("tokenreviews", { token: api.token }, root)).toMatchObject({
      status: { authenticated: true, user: { username: "slipway:admin" } },
    });
    const unknown = await ask("tokenreviews", { token: "guess" }, root);
    expect(unknown).toMatchObject({ status: { error: "the token is not valid" } });
    expect(unknown).not.toMatchObject({ status: { authenticated: true } });
    await expect(ask("tokenreviews", {}, root)).rejects.toMatchObject({ code: 422 });
  });
});
