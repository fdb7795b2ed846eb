import { isJsonObject, jsonEquals, type JsonObject, objectAt, textAt } from "#lib/base/index.ts";
import { forbidden, type ResourceType } from "#kernel/model/index.ts";
import { ClusterRole, rbacGroup } from "../../kinds/rbac.ts";
import type { Authorizer } from "../authorizer.ts";
import { type Identity, isMaster } from "../identity.ts";
import { type PolicyRule, policyRule, ruleJson, rulesOf, uncovered } from "./policy-rule.ts";

// Kubernetes' escalation prevention: writing or binding a role requires its permissions, or `escalate` or `bind`.

/** What an aggregated role may come to hold. */
const everything = [
  policyRule({ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }),
  policyRule({ verbs: ["*"], nonResourceURLs: ["*"] }),
];

/** Throws 403 when the caller would gain or give permissions it does not have. `object` is valid. */
export function refuseEscalation(
  authorizer: Authorizer,
  identity: Identity,
  type: ResourceType,
  object: JsonObject,
  old: JsonObject | undefined,
): void {
  if (isMaster(identity) || (old !== undefined && changesUpkeepAlone(object, old))) return;
  const isBinding = type.plural.endsWith("bindings");
  if (isBinding) checkBinding(authorizer, identity, type, object);
  else checkRole(authorizer, identity, type, object, old);
}

const upkeep: ReadonlySet<string> = new Set(["finalizers", "ownerReferences", "managedFields", "resourceVersion"]);

/** Labels count: they make a role part of aggregated ones. */
function changesUpkeepAlone(object: JsonObject, old: JsonObject): boolean {
  const rest = ({ metadata, ...members }: JsonObject) => ({
    ...members,
    metadata: isJsonObject(metadata)
      ? Object.fromEntries(Object.entries(metadata).filter(([name]) => !upkeep.has(name)))
      : {},
  });
  return jsonEquals(rest(object), rest(old));
}

/** An aggregated role may come to hold anything, so its writer needs everything. */
function checkRole(
  authorizer: Authorizer,
  identity: Identity,
  type: ResourceType,
  object: JsonObject,
  old: JsonObject | undefined,
): void {
  const namespace = textAt(object, "metadata", "namespace") ?? "";
  const name = textAt(object, "metadata", "name") ?? "";
  const resource = type.plural;
  if (authorizer.allows(identity, { verb: "escalate", group: rbacGroup, resource, namespace, name })) return;
  const held = authorizer.rulesFor(identity, namespace);
  const lacking = uncovered(held.rules, rulesOf(object));
  if (lacking.length > 0 || held.incomplete) throw refusal(type, name, identity, lacking);
  const gathers = (role: JsonObject | undefined) => objectAt(role, "aggregationRule") !== undefined;
  const aggregates = type.kind === ClusterRole.kind && (gathers(object) || gathers(old));
  if (aggregates && uncovered(held.rules, everything).length > 0) {
    throw forbidden(type, name, "must have cluster-admin privileges to use the aggregationRule");
  }
}

/** A missing role cannot be bound: it may come to hold anything. */
function checkBinding(authorizer: Authorizer, identity: Identity, type: ResourceType, object: JsonObject): void {
  const namespace = textAt(object, "metadata", "namespace") ?? "";
  const name = textAt(object, "metadata", "name") ?? "";
  const roleName = textAt(object, "roleRef", "name") ?? "";
  const isCluster = textAt(object, "roleRef", "kind") === ClusterRole.kind;
  const resource = isCluster ? "clusterroles" : "roles";
  if (authorizer.allows(identity, { verb: "bind", group: rbacGroup, resource, namespace, name: roleName })) return;
  const rules = authorizer.index.role(isCluster ? "" : namespace, roleName);
  if (rules === undefined) {
    throw forbidden(type, name, `${resource}.${rbacGroup} ${JSON.stringify(roleName)} not found`);
  }
  const held = authorizer.rulesFor(identity, namespace);
  const lacking = uncovered(held.rules, rules);
  if (lacking.length > 0 || held.incomplete) throw refusal(type, name, identity, lacking);
}

/** Kubernetes prints Go syntax; JSON says the same. */
function refusal(type: ResourceType, name: string, identity: Identity, lacking: readonly PolicyRule[]) {
  const shown = lacking.slice(0, 20).map((rule) => JSON.stringify(ruleJson(rule)));
  const more = lacking.length > shown.length ? [`and ${lacking.length - shown.length} more`] : [];
  const groups = identity.groups.map((group) => JSON.stringify(group)).join(" ");
  return forbidden(
    type,
    name,
    `user ${JSON.stringify(identity.user)} (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:\n${[...shown, ...more].join("\n")}`,
  );
}
