import type { TypeDescriptions } from "./descriptions.ts";

// Texts for `kubectl explain` of rbac.authorization.k8s.io/v1 and the two groups of reviews; the form and its rules are those of
// descriptions-core.ts.

const metadata = "Name, labels, owners and what the server keeps about the object.";
const review = { metadata: "Not used: nothing is stored.", spec: "The question.", status: "The answer." };

export const accessDescriptions: Readonly<Record<string, TypeDescriptions>> = {
  "v1.Role": {
    "": "What may be done in one namespace.",
    metadata,
    rules: "Rules; what one of them allows is allowed.",
  },
  "v1.ClusterRole": {
    "": "What may be done, everywhere or in the namespaces of its bindings.",
    metadata,
    rules: "Rules; what one of them allows is allowed.",
    aggregationRule: "Where the rules come from: other ClusterRoles, by their labels.",
  },
  "v1.AggregationRule": {
    "": "How an aggregated role finds its parts.",
    clusterRoleSelectors: "Labels; roles that one of them selects are parts.",
  },
  "v1.PolicyRule": {
    "": "What may be done to what.",
    verbs: "Verbs such as get, list and create; * is all.",
    apiGroups: "API groups of the resources; the empty text is the core group, * is all.",
    resources: "Plurals such as pods, subresources such as pods/log, */scale, or *.",
    resourceNames: "Names of objects; all when empty.",
    nonResourceURLs: "Paths that are no resource, such as /metrics or /api/*.",
  },
  "v1.RoleBinding": {
    "": "Gives a role to somebody, in one namespace.",
    metadata,
    roleRef: "The role; it cannot be changed.",
    subjects: "To whom it is given.",
  },
  "v1.ClusterRoleBinding": {
    "": "Gives a ClusterRole to somebody, everywhere.",
    metadata,
    roleRef: "The role; it cannot be changed.",
    subjects: "To whom it is given.",
  },
  "v1.RoleRef": {
    "": "Names a role.",
    apiGroup: "Always rbac.authorization.k8s.io.",
    kind: "Role or ClusterRole.",
    name: "Name of the role.",
  },
  "v1.Subject": {
    "": "Somebody: a user, a group or an account.",
    apiGroup: "Group rbac.authorization.k8s.io for users and groups, empty for accounts.",
    kind: "User, Group or ServiceAccount.",
    name: "Name of the user, group or account.",
    namespace: "Namespace of the account.",
  },
  "v1.SelfSubjectReview": { "": "Asks who the caller is.", metadata: review.metadata, status: review.status },
  "v1.TokenReview": { "": "Asks whose a token is.", ...review },
  "v1.TokenRequest": { "": "Asks for a token of an account.", ...review },
  "v1.SelfSubjectAccessReview": { "": "Asks whether the caller may do something.", ...review },
  "v1.SelfSubjectRulesReview": { "": "Asks what the caller may do in a namespace.", ...review },
  "v1.SubjectAccessReview": { "": "Asks whether somebody may do something.", ...review },
  "v1.LocalSubjectAccessReview": { "": "Asks whether somebody may do something in one namespace.", ...review },
};
