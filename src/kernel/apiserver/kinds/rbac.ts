import {
  type FieldPath,
  jsonEquals,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  textAt,
  valueAt,
} from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { readLabelSelector } from "#kernel/kit/index.ts";
import { isPathSegment, labelRule, type ResourceType, subdomainRule } from "#kernel/model/index.ts";
import { definitionNames, type Findings, mapItems, mapMember, withMembers } from "#kernel/specs/index.ts";
import { bindingTable, roleTable } from "../tables/rbac.ts";
import type { BuiltIn, Rule } from "./built-in.ts";

// Kubernetes' defaults and validation. authz/rbac/escalation.ts decides who may write them.

/** Also the group of `roleRef` and of users and groups as subjects. */
export const rbacGroup = "rbac.authorization.k8s.io";

const rbac = { group: rbacGroup, version: "v1" } as const;
export const Role = { ...rbac, kind: "Role", plural: "roles", namespaced: true } as const satisfies ResourceType;
export const ClusterRole = {
  ...rbac,
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
} as const satisfies ResourceType;
export const RoleBinding = {
  ...rbac,
  kind: "RoleBinding",
  plural: "rolebindings",
  namespaced: true,
} as const satisfies ResourceType;
export const ClusterRoleBinding = {
  ...rbac,
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
} as const satisfies ResourceType;

/** A rule is about resources or, in ClusterRoles, about paths. */
function checkPolicyRules(object: JsonObject, isNamespaced: boolean, { errors }: Findings): void {
  for (const [index, rule] of objectsAt(object, "rules").entries()) {
    const at: FieldPath = ["rules", index];
    const has = (member: string) => listAt(rule, member).length > 0;
    if (!has("verbs")) errors.push(fieldError.required([...at, "verbs"], "verbs must contain at least one value"));
    if (has("nonResourceURLs")) {
      const urls = valueAt(rule, "nonResourceURLs");
      if (isNamespaced) {
        const why = "namespaced rules cannot apply to non-resource URLs";
        errors.push(fieldError.invalid([...at, "nonResourceURLs"], urls, why));
      }
      if (has("apiGroups") || has("resources") || has("resourceNames")) {
        const why = "rules cannot apply to both regular resources and non-resource URLs";
        errors.push(fieldError.invalid([...at, "nonResourceURLs"], urls, why));
      }
      continue;
    }
    if (!has("apiGroups")) {
      errors.push(fieldError.required([...at, "apiGroups"], "resource rules must supply at least one api group"));
    }
    if (!has("resources")) {
      errors.push(fieldError.required([...at, "resources"], "resource rules must supply at least one resource"));
    }
  }
}

const aggregationRule: Rule = (object, { errors }) => {
  const aggregation = objectAt(object, "aggregationRule");
  if (aggregation === undefined) return;
  const at: FieldPath = ["aggregationRule", "clusterRoleSelectors"];
  const selectors = listAt(aggregation, "clusterRoleSelectors");
  if (selectors.length === 0) {
    errors.push(fieldError.required(at, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
  }
  for (const [index, selector] of selectors.entries()) {
    const read = readLabelSelector(selector);
    if (!read.ok) errors.push(fieldError.invalid([...at, index], selector, read.error));
  }
};

/** Accounts are core objects; users and groups are no objects. */
const groupOfSubject: Readonly<Record<string, string>> = { ServiceAccount: "", User: rbacGroup, Group: rbacGroup };

function withGroups(binding: JsonObject): JsonObject {
  const named = mapMember(binding, "roleRef", (role) =>
    textAt(role, "apiGroup") === undefined ? { ...role, apiGroup: rbacGroup } : role,
  );
  return mapItems(named, "subjects", (subject) => {
    const isObject = subject["kind"] === "ServiceAccount";
    if (isObject) return subject["apiGroup"] === "" ? withMembers(subject, { apiGroup: undefined }) : subject;
    const isKnown = subject["kind"] === "User" || subject["kind"] === "Group";
    return isKnown && textAt(subject, "apiGroup") === undefined ? { ...subject, apiGroup: rbacGroup } : subject;
  });
}

const bindingRule =
  (isNamespaced: boolean): Rule =>
  (object, found) => {
    checkRoleRef(objectAt(object, "roleRef") ?? {}, isNamespaced ? ["Role", "ClusterRole"] : ["ClusterRole"], found);
    for (const [index, subject] of objectsAt(object, "subjects").entries()) {
      checkSubject(subject, ["subjects", index], isNamespaced, found);
    }
  };

/** A missing role is allowed, as in Kubernetes; escalation.ts decides who may bind it. */
function checkRoleRef(role: JsonObject, kinds: readonly string[], { errors }: Findings): void {
  const group = textAt(role, "apiGroup") ?? "";
  if (group !== rbacGroup) errors.push(fieldError.notSupported(["roleRef", "apiGroup"], group, [rbacGroup]));
  const kind = textAt(role, "kind") ?? "";
  if (!kinds.includes(kind)) errors.push(fieldError.notSupported(["roleRef", "kind"], kind, kinds));
  const name = textAt(role, "name");
  if (name === undefined) errors.push(fieldError.required(["roleRef", "name"]));
  else if (!isPathSegment(name)) {
    errors.push(fieldError.invalid(["roleRef", "name"], name, 'may not be "." or "..", or contain "/" or "%"'));
  }
}

/** An account's namespace defaults to that of the binding. */
function checkSubject(subject: JsonObject, at: FieldPath, isNamespaced: boolean, { errors }: Findings): void {
  const kind = textAt(subject, "kind") ?? "";
  const name = textAt(subject, "name");
  if (name === undefined) errors.push(fieldError.required([...at, "name"]));
  const wanted = Object.hasOwn(groupOfSubject, kind) ? groupOfSubject[kind] : undefined;
  if (wanted === undefined) {
    errors.push(fieldError.notSupported([...at, "kind"], kind, ["Group", "ServiceAccount", "User"]));
    return;
  }
  const group = textAt(subject, "apiGroup") ?? "";
  if (group !== wanted) errors.push(fieldError.notSupported([...at, "apiGroup"], group, [wanted]));
  if (kind !== "ServiceAccount") return;
  const wrong = name === undefined ? undefined : subdomainRule(name);
  if (wrong !== undefined) errors.push(fieldError.invalid([...at, "name"], name, wrong));
  const namespace = textAt(subject, "namespace");
  if (namespace === undefined) {
    if (!isNamespaced) errors.push(fieldError.required([...at, "namespace"]));
  } else if (labelRule(namespace) !== undefined) {
    errors.push(fieldError.invalid([...at, "namespace"], namespace, labelRule(namespace) ?? ""));
  }
}

/** Otherwise whoever may change a binding could grant another role. */
const roleRefIsImmutable: Rule = (object, { errors }, old) => {
  if (old !== undefined && !jsonEquals(object["roleRef"], old["roleRef"])) {
    errors.push(fieldError.invalid(["roleRef"], object["roleRef"], "cannot change roleRef"));
  }
};

export const roleKind: BuiltIn = {
  type: Role,
  definition: definitionNames.role,
  table: roleTable,
  rules: [(object, found) => checkPolicyRules(object, true, found)],
};

export const clusterRoleKind: BuiltIn = {
  type: ClusterRole,
  definition: definitionNames.clusterRole,
  table: roleTable,
  rules: [(object, found) => checkPolicyRules(object, false, found), aggregationRule],
};

export const roleBindingKind: BuiltIn = {
  type: RoleBinding,
  definition: definitionNames.roleBinding,
  table: bindingTable,
  defaults: withGroups,
  rules: [bindingRule(true)],
  updateRules: [roleRefIsImmutable],
};

export const clusterRoleBindingKind: BuiltIn = {
  type: ClusterRoleBinding,
  definition: definitionNames.clusterRoleBinding,
  table: bindingTable,
  defaults: withGroups,
  rules: [bindingRule(false)],
  updateRules: [roleRefIsImmutable],
};
