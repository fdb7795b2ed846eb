import type { Access, Identity } from "./identity.ts";
import { Credential } from "./credential.ts";
import { allows, type CompiledRules, compileRules, type PolicyRule, policyRule } from "./rbac/policy-rule.ts";

// Slipway's own roles, assigned by group. They are no ClusterRoles because they have exceptions, which RBAC cannot
// express.
//
//   slipway:operators   read everything; write everything but roles, bindings, credentials, definitions, Secrets of kube-system, and
//                       statuses, which controllers write: that of a run says who has approved what
//   slipway:viewers     read everything but Secrets, and logs where the server is told so; no way into a container
//   slipway:agents      `slipway:agent:<name>`: the Lease of that name in slipway-system, and Events; what is assigned to an agent
//                       is granted to its user by bindings, as to any other

interface BuiltInRole {
  readonly text: string;
  readonly rules: CompiledRules;
  readonly except: CompiledRules;
  readonly exceptIn: readonly { readonly namespace: string; readonly rules: CompiledRules }[];
}

export const operatorsGroup = "slipway:operators";
export const viewersGroup = "slipway:viewers";
export const agentsGroup = "slipway:agents";
export const agentUserPrefix = "slipway:agent:";
const agentsNamespace = "slipway-system";

const all = ["*"];
const read = ["get", "list", "watch"];
const write = ["create", "update", "patch", "delete", "deletecollection"];
const anything = policyRule({ verbs: all, apiGroups: all, resources: all });
const paths = policyRule({ verbs: ["get"], nonResourceURLs: all });
const selfReviews = [
  policyRule({
    verbs: ["create"],
    apiGroups: ["authorization.k8s.io"],
    resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
  }),
  policyRule({ verbs: ["create"], apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"] }),
];

/** Permission to mount a host path, by its path as name. No kind of this name exists. */
export const hostPathRight = { verb: "use", group: "slipway.dev", resource: "hostpaths" } as const;

/** Permission to send notifications to hosts without a public address. No kind of this name exists. */
const notificationRight = { verb: "use", group: "slipway.dev", resource: "notificationtargets" } as const;

/** Permission of controllers to write statuses that they act on; its own group keeps it out of `slipway.dev` roles. */
export const controllerRight = { verb: "update", group: "controllers.slipway.dev", resource: "statuses" } as const;

const operator: BuiltInRole = {
  text: "role slipway:operator",
  rules: compileRules([anything, paths]),
  except: compileRules([
    policyRule({ verbs: write, apiGroups: ["rbac.authorization.k8s.io", "apiextensions.k8s.io"], resources: all }),
    policyRule({ verbs: all, apiGroups: [""], resources: ["serviceaccounts/token"] }),
    policyRule({ verbs: write, apiGroups: [Credential.group], resources: [Credential.plural] }),
    policyRule({ verbs: write, apiGroups: all, resources: ["*/status"] }),
    policyRule({ verbs: ["create"], apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"] }),
    policyRule({ verbs: [hostPathRight.verb], apiGroups: [hostPathRight.group], resources: [hostPathRight.resource] }),
    policyRule({
      verbs: [notificationRight.verb],
      apiGroups: [notificationRight.group],
      resources: [notificationRight.resource],
    }),
    policyRule({ verbs: all, apiGroups: [controllerRight.group], resources: all }),
    policyRule({ verbs: ["impersonate", "escalate", "bind"], apiGroups: all, resources: all }),
  ]),
  exceptIn: [
    {
      namespace: "kube-system",
      rules: compileRules([policyRule({ verbs: write, apiGroups: [""], resources: ["secrets"] })]),
    },
  ],
};

const viewer: BuiltInRole = {
  text: "role slipway:viewer",
  rules: compileRules([policyRule({ verbs: read, apiGroups: all, resources: all }), paths, ...selfReviews]),
  except: compileRules([
    policyRule({ verbs: all, apiGroups: [""], resources: ["secrets", "serviceaccounts/token"] }),
    // These are GET requests, but more than reads.
    policyRule({ verbs: all, apiGroups: [""], resources: ["*/exec", "*/attach", "*/portforward", "*/proxy"] }),
  ]),
  exceptIn: [],
};

const logs = policyRule({ verbs: all, apiGroups: all, resources: ["*/log"] });
const viewerWithoutLogs: BuiltInRole = { ...viewer, except: compileRules([...viewer.except.rules, logs]) };

export interface RoleSettings {
  /** Logs may contain more than viewers should know. */
  readonly hideLogsFromViewers: boolean;
}

function roleOf(group: string, { hideLogsFromViewers }: RoleSettings): BuiltInRole | undefined {
  if (group === operatorsGroup) return operator;
  if (group !== viewersGroup) return undefined;
  return hideLogsFromViewers ? viewerWithoutLogs : viewer;
}

const agentEvents = compileRules([
  policyRule({ verbs: ["create", "patch", "update"], apiGroups: ["", "events.k8s.io"], resources: ["events"] }),
]);
const agentLeaseRule = (name: string): PolicyRule =>
  policyRule({
    verbs: ["get", "list", "watch", "update", "patch", "create"],
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    resourceNames: [name],
  });

export function findBuiltInRole(identity: Identity, access: Access, settings: RoleSettings): string | undefined {
  for (const group of identity.groups) {
    const role = roleOf(group, settings);
    if (role !== undefined && roleAllows(role, access)) return role.text;
    if (group === agentsGroup && agentMay(identity.user, access)) return "role slipway:agent";
  }
  return undefined;
}

function roleAllows({ rules, except, exceptIn }: BuiltInRole, access: Access): boolean {
  if (!allows(rules, access)) return false;
  if (access.path !== undefined) return true;
  if (allows(except, access)) return false;
  return !exceptIn.some(({ namespace, rules: denied }) => isIn(access, namespace) && allows(denied, access));
}

/** A write to all namespaces includes this one. */
const isIn = (access: Access, namespace: string): boolean =>
  (access.namespace ?? "") === "" || access.namespace === namespace;

/** An agent's Lease has its name. It is created by an apply: a POST has no name to authorize. */
function agentMay(user: string, access: Access): boolean {
  if (!user.startsWith(agentUserPrefix) || access.path !== undefined) return false;
  if (allows(agentEvents, access)) return true;
  const isLease = access.group === "coordination.k8s.io" && access.resource === "leases";
  if (!isLease || access.namespace !== agentsNamespace) return false;
  return allows(compileRules([agentLeaseRule(user.slice(agentUserPrefix.length))]), access);
}

/** `hasExceptions`: not everything that the rules match is allowed. */
export function builtInRulesOf(
  identity: Identity,
  namespace: string,
  settings: RoleSettings,
): { readonly rules: readonly PolicyRule[]; readonly hasExceptions: boolean } {
  const roles = identity.groups.flatMap((group) => roleOf(group, settings) ?? []);
  const isAgent = identity.groups.includes(agentsGroup) && identity.user.startsWith(agentUserPrefix);
  const lease =
    isAgent && namespace === agentsNamespace ? [agentLeaseRule(identity.user.slice(agentUserPrefix.length))] : [];
  return {
    rules: [...roles.flatMap(({ rules }) => rules.rules), ...(isAgent ? [...agentEvents.rules, ...lease] : [])],
    hasExceptions: roles.length > 0,
  };
}
