import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { serveBuiltIn } from "./built-in.ts";
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from "./rbac.ts";

const group = "rbac.authorization.k8s.io";
const kinds = { roleKind, clusterRoleKind, roleBindingKind, clusterRoleBindingKind };
const served = (name: keyof typeof kinds) => serveBuiltIn(kinds[name]);
const causes = (name: keyof typeof kinds, object: JsonObject) => {
  const resource = served(name);
  return resource
    .validateCreate(resource.withDefaults({ metadata: { name: "x" }, ...object }))
    .causes.map(({ field, message }) => `${field}: ${message}`);
};

describe("roles", () => {
  const pods = { apiGroups: [""], resources: ["pods"] };
  test.each<[JsonObject, string]>([
    [pods, "rules[0].verbs: Required value"],
    [
      { verbs: ["get"], resources: ["pods"] },
      "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
    ],
    [
      { verbs: ["get"], apiGroups: [""] },
      "rules[0].resources: Required value: resource rules must supply at least one resource",
    ],
    [
      { verbs: ["get"], nonResourceURLs: ["/x"], ...pods },
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
  ])("%j is refused", (rule, message) => {
    expect(causes("clusterRoleKind", { rules: [rule] })).toContain(message);
  });

  test("of a namespace are about resources only", () => {
    const object = { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] };
    expect(causes("roleKind", object)).toEqual([
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
    ]);
    expect(causes("clusterRoleKind", object)).toEqual([]);
  });

  test("may be empty, and aggregations may not", () => {
    expect(causes("roleKind", {})).toEqual([]);
    expect(causes("clusterRoleKind", { aggregationRule: {} })).toEqual([
      "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
    ]);
    const wrong = { matchExpressions: [{ key: "a", operator: "Near" }] };
    expect(causes("clusterRoleKind", { aggregationRule: { clusterRoleSelectors: [wrong] } })).toHaveLength(1);
    const right = { matchLabels: { a: "b" } };
    expect(causes("clusterRoleKind", { aggregationRule: { clusterRoleSelectors: [right] } })).toEqual([]);
  });

  test("show when they were made", () => {
    const object = { metadata: { name: "x", creationTimestamp: "2026-01-01T00:00:00Z" } };
    expect(served("roleKind").row(object, 0)).toEqual(["x", "2026-01-01T00:00:00Z"]);
  });
});

describe("bindings", () => {
  const roleRef = { kind: "ClusterRole", name: "view" };
  test("get the groups that their subjects can only have", () => {
    const subjects = [
      { kind: "User", name: "u" },
      { kind: "ServiceAccount", name: "s", namespace: "n", apiGroup: "" },
      { kind: "Else", name: "e" },
    ];
    expect(served("roleBindingKind").withDefaults({ roleRef, subjects })).toMatchObject({
      roleRef: { apiGroup: group },
      subjects: [
        { kind: "User", apiGroup: group },
        { kind: "ServiceAccount", name: "s", namespace: "n" },
        { kind: "Else", name: "e" },
      ],
    });
  });

  test.each<[JsonObject, string]>([
    [{ kind: "User" }, "subjects[0].name: Required value"],
    [
      { kind: "Robot", name: "r" },
      'subjects[0].kind: Unsupported value: "Robot": supported values: "Group", "ServiceAccount", "User"',
    ],
    [
      { kind: "User", name: "u", apiGroup: "x" },
      `subjects[0].apiGroup: Unsupported value: "x": supported values: "${group}"`,
    ],
    [{ kind: "ServiceAccount", name: "s" }, "subjects[0].namespace: Required value"],
    [
      { kind: "ServiceAccount", name: "S", namespace: "n" },
      'subjects[0].name: Invalid value: "S": must consist of lower case letters, digits, "-" and ".", and start and end with a letter or digit',
    ],
    [
      { kind: "ServiceAccount", name: "s", namespace: "N" },
      'subjects[0].namespace: Invalid value: "N": must consist of lower case letters, digits and "-", and start and end with a letter or digit',
    ],
  ])("to %j are refused", (subject, message) => {
    expect(causes("clusterRoleBindingKind", { roleRef, subjects: [subject] })).toEqual([message]);
  });

  test.each<[JsonObject, string]>([
    [{ kind: "Role", name: "x" }, 'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'],
    [{ kind: "ClusterRole", name: "" }, "roleRef.name: Required value"],
    [
      { kind: "ClusterRole", name: "a/b" },
      'roleRef.name: Invalid value: "a/b": may not be "." or "..", or contain "/" or "%"',
    ],
    [
      { kind: "ClusterRole", name: "a", apiGroup: "x" },
      `roleRef.apiGroup: Unsupported value: "x": supported values: "${group}"`,
    ],
  ])("of %j are refused", (ref, message) => {
    expect(causes("clusterRoleBindingKind", { roleRef: ref })).toEqual([message]);
  });

  test("of a namespace may leave the namespace of an account out, and name a Role", () => {
    const subjects = [{ kind: "ServiceAccount", name: "s" }];
    expect(causes("roleBindingKind", { roleRef: { kind: "Role", name: "x" }, subjects })).toEqual([]);
  });

  test("keep their role", () => {
    const old = { metadata: { name: "x" }, roleRef: { apiGroup: group, ...roleRef } };
    const found = served("roleBindingKind").validateUpdate({ ...old, roleRef: { ...old.roleRef, name: "edit" } }, old);
    expect(found.causes.map(({ field, message }) => `${field} ${message}`)).toEqual([
      `roleRef Invalid value: {"apiGroup":"${group}","kind":"ClusterRole","name":"edit"}: cannot change roleRef`,
    ]);
  });

  test("show their role and who has it", () => {
    const subjects = [
      { kind: "User", name: "u" },
      { kind: "Group", name: "g" },
      { kind: "Group", name: "h" },
      { kind: "ServiceAccount", name: "s", namespace: "n" },
    ];
    const object = { metadata: { name: "x", creationTimestamp: "1970-01-01T00:00:00Z" }, roleRef, subjects };
    expect(served("roleBindingKind").row(object, 60_000)).toEqual(["x", "ClusterRole/view", "60s", "u", "g, h", "n/s"]);
  });
});
