import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { memoryStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";
import { accessTo, Authorizer, authorize } from "./authorizer.ts";
import { agentsGroup, operatorsGroup, viewersGroup } from "./built-in-roles.ts";
import { type Access, admin, type Identity, internal } from "./identity.ts";

const refusal = (run: () => unknown): unknown => {
  try {
    run();
    return undefined;
  } catch (thrown) {
    return thrown;
  }
};
const rbac = "rbac.authorization.k8s.io";
const user = (name: string, ...groups: readonly string[]): Identity => ({ user: name, groups });
const get = (resource: string, namespace = "team", name?: string): Access => ({
  verb: "get",
  group: "",
  resource,
  namespace,
  ...(name === undefined ? {} : { name }),
});

/** Stores an object of RBAC as it is; a role is a list of rules, a binding a role and subjects. */
function put(store: Store, resource: string, namespace: string, name: string, object: JsonObject) {
  const key = { group: rbac, resource, namespace, name };
  return store.write((transaction) => {
    const uid = transaction.head(key)?.uid ?? `${resource}-${namespace}-${name}`;
    transaction.put(key, { metadata: { name, ...(namespace === "" ? {} : { namespace }), uid }, ...object });
  });
}
const drop = (store: Store, resource: string, namespace: string, name: string) =>
  store.write((transaction) => void transaction.remove({ group: rbac, resource, namespace, name }));
const readPods: JsonObject = { rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }] };
const to = (kind: string, role: string, ...subjects: readonly JsonObject[]): JsonObject => ({
  roleRef: { apiGroup: rbac, kind, name: role },
  subjects,
});
const alice = { kind: "User", name: "alice" };

describe("without any role", () => {
  const authorizer = new Authorizer(memoryStore());

  test("masters and the parts of this process may do everything, others are told what they may not", () => {
    const access = { verb: "list", group: "batch", resource: "jobs", namespace: "team" };
    for (const identity of [admin, internal])
      expect(refusal(() => authorize(authorizer, identity, access))).toBeUndefined();
    expect(refusal(() => authorize(authorizer, user("eve"), access))).toMatchObject({
      code: 403,
      message:
        'jobs.batch is forbidden: User "eve" cannot list resource "jobs" in API group "batch" in the namespace "team"',
    });
    expect(
      refusal(() => authorize(authorizer, user("eve"), { verb: "get", group: "", resource: "pods" })),
    ).toMatchObject({ message: expect.stringContaining("at the cluster scope") });
  });

  test.each<[Access, string, object]>([
    [get("pods/log", "n", "p"), 'pods "p" is forbidden: ', { kind: "pods", name: "p" }],
    [
      { verb: "get", group: "", resource: "", path: "/metrics" },
      'forbidden: User "eve" cannot get path "/metrics"',
      {},
    ],
    [
      { verb: "create", group: "slipway.dev", resource: "workflows", namespace: "" },
      "workflows.slipway.dev is forbidden: ",
      { group: "slipway.dev", kind: "workflows" },
    ],
  ])("%j is refused with what it is about", (access, text, details) => {
    const thrown = refusal(() => authorize(authorizer, user("eve", "system:authenticated", "system:master"), access));
    expect(thrown).toMatchObject({ code: 403, reason: "Forbidden", message: expect.stringContaining(text) });
    if (Object.keys(details).length > 0) expect(thrown).toMatchObject({ details });
  });

  test("a namespace is in itself, other kinds of the cluster are nowhere", () => {
    const target = { namespace: "", name: "team" };
    expect(accessTo({ group: "", plural: "namespaces" }, "get", target)).toMatchObject({
      namespace: "team",
      name: "team",
    });
    expect(accessTo({ group: rbac, plural: "clusterroles" }, "get", target)).toMatchObject({ namespace: "" });
    expect(accessTo({ group: "", plural: "pods" }, "get", { ...target, name: "p", subresource: "log" })).toMatchObject({
      resource: "pods/log",
    });
  });
});

describe("bindings", () => {
  test("of the cluster count everywhere, those of a namespace in it alone", async () => {
    const store = memoryStore();
    await put(store, "clusterroles", "", "reader", readPods);
    await put(store, "clusterrolebindings", "", "all", to("ClusterRole", "reader", alice));
    await put(store, "rolebindings", "team", "some", to("ClusterRole", "reader", { kind: "Group", name: "devs" }));
    const authorizer = new Authorizer(store);
    for (const namespace of ["", "team", "other"])
      expect(authorizer.allows(user("alice"), get("pods", namespace))).toBe(true);
    const bob = user("bob", "devs");
    expect(["team", "other", ""].map((namespace) => authorizer.allows(bob, get("pods", namespace)))).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("to a Role mean the one of their own namespace", async () => {
    const store = memoryStore();
    await put(store, "roles", "team", "reader", readPods);
    await put(store, "rolebindings", "other", "some", to("Role", "reader", alice));
    const authorizer = new Authorizer(store);
    expect(authorizer.allows(user("alice"), get("pods", "other"))).toBe(false);
    await put(store, "roles", "other", "reader", readPods);
    expect(authorizer.allows(user("alice"), get("pods", "other"))).toBe(true);
    expect(authorizer.allows(user("alice"), get("pods", "team"))).toBe(false);
  });

  test("name accounts by their user; without a namespace it is that of the binding", async () => {
    const store = memoryStore();
    await put(store, "clusterroles", "", "reader", readPods);
    const own = { kind: "ServiceAccount", name: "builder" };
    await put(store, "rolebindings", "team", "some", to("ClusterRole", "reader", own));
    const far = { kind: "ServiceAccount", name: "builder", namespace: "far" };
    await put(store, "clusterrolebindings", "", "all", to("ClusterRole", "reader", far, own));
    const authorizer = new Authorizer(store);
    expect(authorizer.allows(user("system:serviceaccount:team:builder"), get("pods", "team"))).toBe(true);
    expect(authorizer.allows(user("system:serviceaccount:team:builder"), get("pods", "far"))).toBe(false);
    expect(authorizer.allows(user("system:serviceaccount:far:builder"), get("pods", "x"))).toBe(true);
    expect(authorizer.allows(user("builder"), get("pods", "team"))).toBe(false);
  });

  test("count from the turn of their write on until that of their removal, with the subjects they have then", async () => {
    const store = memoryStore();
    const authorizer = new Authorizer(store);
    const may = (name: string) => authorizer.allows(user(name), get("pods", "team"));
    expect(may("alice")).toBe(false);
    await put(store, "rolebindings", "team", "some", to("Role", "reader", alice));
    expect(may("alice")).toBe(false);
    await put(store, "roles", "team", "reader", readPods);
    expect(may("alice")).toBe(true);
    await put(store, "rolebindings", "team", "some", to("Role", "reader", { kind: "User", name: "bob" }));
    expect([may("alice"), may("bob")]).toEqual([false, true]);
    await put(store, "roles", "team", "reader", { rules: [] });
    expect(may("bob")).toBe(false);
    await put(store, "roles", "team", "reader", readPods);
    await drop(store, "roles", "team", "reader");
    expect(may("bob")).toBe(false);
    await put(store, "roles", "team", "reader", readPods);
    expect(may("bob")).toBe(true);
    await drop(store, "rolebindings", "team", "some");
    expect(may("bob")).toBe(false);
  });

  test("two that give the same are not one: the other stays when one goes", async () => {
    const store = memoryStore();
    await put(store, "clusterroles", "", "reader", readPods);
    await put(store, "rolebindings", "team", "one", to("ClusterRole", "reader", alice));
    await put(store, "rolebindings", "team", "two", to("ClusterRole", "reader", alice, alice));
    const authorizer = new Authorizer(store);
    expect(authorizer.allows(user("alice"), get("pods"))).toBe(true);
    await drop(store, "rolebindings", "team", "one");
    expect(authorizer.allows(user("alice"), get("pods"))).toBe(true);
    await drop(store, "rolebindings", "team", "two");
    expect(authorizer.allows(user("alice"), get("pods"))).toBe(false);
  });

  test("of a namespace never allow paths that are no resource", async () => {
    const store = memoryStore();
    const role = { rules: [{ verbs: ["get"], nonResourceURLs: ["/metrics"] }] };
    await put(store, "clusterroles", "", "metrics", role);
    await put(store, "rolebindings", "team", "some", to("ClusterRole", "metrics", alice));
    const authorizer = new Authorizer(store);
    const access = { verb: "get", group: "", resource: "", path: "/metrics", namespace: "team" };
    expect(authorizer.allows(user("alice"), access)).toBe(false);
    await put(store, "clusterrolebindings", "", "all", to("ClusterRole", "metrics", alice));
    expect(authorizer.allows(user("alice"), access)).toBe(true);
  });

  test("are named in the reason", async () => {
    const store = memoryStore();
    await put(store, "roles", "team", "reader", readPods);
    await put(store, "rolebindings", "team", "some", to("Role", "reader", alice));
    const authorizer = new Authorizer(store);
    expect(authorizer.judge(user("alice"), get("pods"))).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "some/team" of Role "reader/team" to User "alice"',
    });
    expect(authorizer.judge(user("alice"), get("secrets"))).toEqual({ allowed: false, reason: "" });
    expect(authorizer.judge(admin, get("secrets")).reason).toBe("member of system:masters");
  });
});

describe("roles of Slipway", () => {
  const authorizer = new Authorizer(memoryStore());
  const access = (verb: string, what: string, namespace = "team"): Access => {
    const [resource = "", group = ""] = what.split(".", 2).length === 2 ? what.split(/\.(.*)/s) : [what];
    return { verb, group, resource, namespace };
  };
  test.each<[string, string, string, string, boolean]>([
    [operatorsGroup, "get", "secrets", "kube-system", true],
    [operatorsGroup, "update", "secrets", "kube-system", false],
    [operatorsGroup, "deletecollection", "secrets", "", false],
    [operatorsGroup, "update", "secrets", "team", true],
    [operatorsGroup, "create", "pods", "kube-system", true],
    [operatorsGroup, "create", "roles.rbac.authorization.k8s.io", "team", false],
    [operatorsGroup, "list", "clusterroles.rbac.authorization.k8s.io", "", true],
    [operatorsGroup, "patch", "customresourcedefinitions.apiextensions.k8s.io", "", false],
    [operatorsGroup, "create", "serviceaccounts/token", "team", false],
    [operatorsGroup, "impersonate", "users", "", false],
    [operatorsGroup, "delete", "workflows.slipway.dev", "team", true],
    [operatorsGroup, "patch", "runactions/status.slipway.dev", "team", false],
    [operatorsGroup, "update", "workflows/status.slipway.dev", "team", false],
    [operatorsGroup, "get", "runactions/status.slipway.dev", "team", true],
    [viewersGroup, "list", "pods", "team", true],
    [viewersGroup, "get", "pods/log", "team", true],
    [viewersGroup, "get", "secrets", "team", false],
    [viewersGroup, "list", "secrets", "", false],
    [viewersGroup, "get", "pods/exec", "team", false],
    [viewersGroup, "create", "pods", "team", false],
    [viewersGroup, "create", "selfsubjectaccessreviews.authorization.k8s.io", "", true],
    [viewersGroup, "create", "subjectaccessreviews.authorization.k8s.io", "", false],
  ])("%s: %s %s in %j is %s", (group, verb, what, namespace, allowed) => {
    expect(authorizer.allows(user("someone", group), access(verb, what, namespace))).toBe(allowed);
  });

  test("viewers read no logs where they are hidden, and learn of it when they ask; others do", () => {
    const hiding = new Authorizer(memoryStore(), { hideLogsFromViewers: true });
    const viewer = user("someone", viewersGroup);
    expect(hiding.allows(viewer, access("get", "pods/log", "team"))).toBe(false);
    expect(hiding.judge(viewer, access("get", "pods/log", "team"))).toEqual({ allowed: false, reason: "" });
    expect(hiding.allows(viewer, access("get", "workflows/log.tinkerbell.org", "team"))).toBe(false);
    expect(hiding.allows(viewer, access("get", "pods", "team"))).toBe(true);
    expect(hiding.allows(user("someone", operatorsGroup), access("get", "pods/log", "team"))).toBe(true);
    hiding.close();
  });

  test("an agent reaches its own Lease and writes Events, and nothing of other agents", () => {
    const agent = user("slipway:agent:a", agentsGroup);
    const lease = (name: string, verb = "update", namespace = "slipway-system"): Access => ({
      verb,
      group: "coordination.k8s.io",
      resource: "leases",
      namespace,
      name,
    });
    expect(authorizer.allows(agent, lease("a"))).toBe(true);
    expect(authorizer.allows(agent, lease("b"))).toBe(false);
    expect(authorizer.allows(agent, lease("a", "update", "default"))).toBe(false);
    expect(authorizer.allows(agent, lease("a", "delete"))).toBe(false);
    expect(authorizer.allows(agent, { verb: "list", group: "coordination.k8s.io", resource: "leases" })).toBe(false);
    expect(authorizer.allows(agent, access("create", "events.events.k8s.io"))).toBe(true);
    expect(authorizer.allows(agent, access("get", "pods"))).toBe(false);
    expect(authorizer.allows(user("slipway:agent:a"), lease("a"))).toBe(false);
    expect(authorizer.allows(user("mallory", agentsGroup), lease("a"))).toBe(false);
  });
});
