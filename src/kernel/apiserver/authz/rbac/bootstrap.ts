import type { JsonObject } from "#lib/base/index.ts";
import { ClusterRole, ClusterRoleBinding, rbacGroup } from "../../kinds/rbac.ts";
import { apiVersionOf, type ResourceType } from "#kernel/model/index.ts";
import { authenticatedGroup, mastersGroup } from "../identity.ts";
import { aggregatedRules } from "./aggregation.ts";
import { type PolicyRule, policyRule, ruleJson } from "./policy-rule.ts";

// The parts of Kubernetes' bootstrap policy about kinds served here. Changes by users are kept.

export const ownGroup = "slipway.dev";

const read = ["get", "list", "watch"];
const write = ["create", "delete", "deletecollection", "patch", "update"];
const labels = { "kubernetes.io/bootstrapping": "rbac-defaults" };
const aggregateTo = (role: string) => ({ [`rbac.authorization.k8s.io/aggregate-to-${role}`]: "true" });

const resources = (apiGroup: string, verbs: readonly string[], ...names: readonly string[]): PolicyRule =>
  policyRule({ verbs, apiGroups: [apiGroup], resources: names });
/** A rule about paths; the bootstrap policy only allows `get`. */
const paths = (...urls: readonly string[]): PolicyRule => policyRule({ verbs: ["get"], nonResourceURLs: urls });

/** Without Secrets and roles, which would help to become somebody else. */
const viewed = [
  resources(
    "",
    read,
    "configmaps",
    "endpoints",
    "events",
    "limitranges",
    "namespaces",
    "namespaces/status",
    "persistentvolumeclaims",
    "persistentvolumeclaims/status",
    "pods",
    "pods/log",
    "pods/status",
    "resourcequotas",
    "resourcequotas/status",
    "serviceaccounts",
    "services",
    "services/status",
  ),
  resources(
    "apps",
    read,
    "controllerrevisions",
    "daemonsets",
    "daemonsets/status",
    "deployments",
    "deployments/scale",
    "deployments/status",
    "replicasets",
    "replicasets/scale",
    "replicasets/status",
    "statefulsets",
    "statefulsets/scale",
    "statefulsets/status",
  ),
  resources("autoscaling", read, "horizontalpodautoscalers", "horizontalpodautoscalers/status"),
  resources("batch", read, "cronjobs", "cronjobs/status", "jobs", "jobs/status"),
  resources("networking.k8s.io", read, "ingresses", "ingresses/status", "networkpolicies"),
  resources("policy", read, "poddisruptionbudgets", "poddisruptionbudgets/status"),
  resources(ownGroup, read, "*"),
];

/** What `edit` adds to `view`: everything in a namespace except roles (escalation) and the namespace's limits. */
const edited = [
  resources("", read, "pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets", "services/proxy"),
  resources("", ["impersonate"], "serviceaccounts"),
  resources("", write, "pods", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy"),
  resources("", ["create"], "pods/eviction", "serviceaccounts/token"),
  resources(
    "",
    write,
    "configmaps",
    "events",
    "persistentvolumeclaims",
    "secrets",
    "serviceaccounts",
    "services",
    "services/proxy",
  ),
  resources(
    "apps",
    write,
    "daemonsets",
    "deployments",
    "deployments/rollback",
    "deployments/scale",
    "replicasets",
    "replicasets/scale",
    "statefulsets",
    "statefulsets/scale",
  ),
  resources("autoscaling", write, "horizontalpodautoscalers"),
  resources("batch", write, "cronjobs", "jobs"),
  resources("coordination.k8s.io", [...write, ...read], "leases"),
  resources("networking.k8s.io", write, "ingresses", "networkpolicies"),
  resources("policy", write, "poddisruptionbudgets"),
];

const administered = [
  resources("authorization.k8s.io", ["create"], "localsubjectaccessreviews"),
  resources(rbacGroup, [...write, ...read], "roles", "rolebindings"),
];

const discovered = [
  paths(
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
  ),
];

interface RoleData {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly rules?: readonly PolicyRule[];
  readonly gathers?: string;
}

/** `ownKinds`: plurals of namespaced kinds of `slipway.dev`, without subresources: controllers write the status. */
const rolesFor = (ownKinds: readonly string[]): readonly RoleData[] => [
  {
    name: "cluster-admin",
    rules: [
      policyRule({ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }),
      policyRule({ verbs: ["*"], nonResourceURLs: ["*"] }),
    ],
  },
  { name: "system:aggregate-to-view", labels: aggregateTo("view"), rules: viewed },
  {
    name: "system:aggregate-to-edit",
    labels: aggregateTo("edit"),
    rules: [...edited, resources(ownGroup, write, ...ownKinds)],
  },
  { name: "system:aggregate-to-admin", labels: aggregateTo("admin"), rules: administered },
  // In this order, because each aggregates the one before.
  { name: "view", labels: aggregateTo("edit"), gathers: "view" },
  { name: "edit", labels: aggregateTo("admin"), gathers: "edit" },
  { name: "admin", gathers: "admin" },
  {
    name: "system:basic-user",
    rules: [
      resources("authorization.k8s.io", ["create"], "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
      resources("authentication.k8s.io", ["create"], "selfsubjectreviews"),
    ],
  },
  { name: "system:discovery", rules: discovered },
  { name: "system:public-info-viewer", rules: [paths("/healthz", "/livez", "/readyz", "/version", "/version/")] },
  {
    name: "system:auth-delegator",
    rules: [
      resources("authentication.k8s.io", ["create"], "tokenreviews"),
      resources("authorization.k8s.io", ["create"], "subjectaccessreviews"),
    ],
  },
];

const bindings = [
  { role: "cluster-admin", group: mastersGroup },
  { role: "system:basic-user", group: authenticatedGroup },
  { role: "system:discovery", group: authenticatedGroup },
  { role: "system:public-info-viewer", group: authenticatedGroup },
];

export interface FirstObject {
  readonly type: ResourceType;
  readonly object: JsonObject;
}

export function bootstrapPolicy(ownKinds: readonly string[]): readonly FirstObject[] {
  const made: JsonObject[] = [];
  for (const role of rolesFor(ownKinds)) made.push(roleObject(role, made));
  return [
    ...made.map((object) => ({ type: ClusterRole, object })),
    ...bindings.map((binding) => ({ type: ClusterRoleBinding, object: bindingObject(binding) })),
  ];
}

/** An aggregated role has its rules from the start: the first request may come before the aggregator. */
function roleObject({ name, labels: marks = {}, rules = [], gathers }: RoleData, before: readonly JsonObject[]) {
  const role: JsonObject = {
    apiVersion: apiVersionOf(ClusterRole),
    kind: ClusterRole.kind,
    metadata: metadataOf(name, marks),
  };
  if (gathers === undefined) return { ...role, rules: rules.map(ruleJson) };
  const aggregated = {
    ...role,
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregateTo(gathers) }] },
  };
  return { ...aggregated, rules: aggregatedRules(aggregated, before) };
}

const bindingObject = ({ role, group }: (typeof bindings)[number]): JsonObject => ({
  apiVersion: apiVersionOf(ClusterRoleBinding),
  kind: ClusterRoleBinding.kind,
  metadata: metadataOf(role, {}),
  roleRef: { apiGroup: rbacGroup, kind: ClusterRole.kind, name: role },
  subjects: [{ apiGroup: rbacGroup, kind: "Group", name: group }],
});

/** The label and annotation by which Kubernetes' tools recognize the bootstrap policy. */
const metadataOf = (name: string, marks: Readonly<Record<string, string>>): JsonObject => ({
  name,
  labels: { ...labels, ...marks },
  annotations: { "rbac.authorization.kubernetes.io/autoupdate": "true" },
});
