import { deploymentKind, replicaSetKind, statefulSetKind } from "./apps.ts";
import type { BuiltIn, TableView } from "./built-in.ts";
import { cronJobKind } from "./cron-job.ts";
import { claimKind } from "./claim.ts";
import { coreEventKind, eventKind } from "./event.ts";
import { jobKind } from "./job.ts";
import { nodeKind } from "./node.ts";
import { podKind } from "./pod.ts";
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from "./rbac.ts";
import { resourceQuotaKind } from "./resource-quota.ts";
import { secretKind } from "./secret.ts";
import { serviceKind } from "./service.ts";
import { endpointsKind, replicationControllerKind, volumeKind } from "./stored-core.ts";
import {
  certificateSigningRequestKind,
  controllerRevisionKind,
  podTemplateKind,
  priorityClassKind,
  storageClassKind,
} from "./stored-classes.ts";
import {
  daemonSetKind,
  horizontalPodAutoscalerKind,
  ingressKind,
  limitRangeKind,
  networkPolicyKind,
  podDisruptionBudgetKind,
} from "./stored-only.ts";
import { configMapKind, leaseKind, namespaceKind, serviceAccountKind } from "./small-kinds.ts";
import type { ResourceType } from "#kernel/model/index.ts";
import { definitionNames } from "#kernel/specs/index.ts";
import { nameColumn } from "../tables/columns.ts";

// Questions as objects: a create returns the answer in the status and stores nothing. authz/reviews answers them.

const authentication = { group: "authentication.k8s.io", version: "v1" } as const;
const authorization = { group: "authorization.k8s.io", version: "v1" } as const;

/** Never listed; discovery and OpenAPI need columns. */
const table: TableView = { columns: [nameColumn], row: () => [""] };

const review = (type: ResourceType, definition: string): BuiltIn => ({
  type,
  definition,
  table,
  verbs: ["create"],
  isReview: true,
});

const cluster = (group: typeof authentication | typeof authorization, kind: string, plural: string): ResourceType => ({
  ...group,
  kind,
  plural,
  namespaced: false,
});

/** Who am I? (KEP-3325) */
const selfSubjectReviewKind = review(
  cluster(authentication, "SelfSubjectReview", "selfsubjectreviews"),
  definitionNames.selfSubjectReview,
);
/** Whose token is this? */
const tokenReviewKind = review(cluster(authentication, "TokenReview", "tokenreviews"), definitionNames.tokenReview);
/** May I do this? */
const selfSubjectAccessReviewKind = review(
  cluster(authorization, "SelfSubjectAccessReview", "selfsubjectaccessreviews"),
  definitionNames.selfSubjectAccessReview,
);
/** What may I do in a namespace? */
const selfSubjectRulesReviewKind = review(
  cluster(authorization, "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
  definitionNames.selfSubjectRulesReview,
);
/** May somebody do this? */
const subjectAccessReviewKind = review(
  cluster(authorization, "SubjectAccessReview", "subjectaccessreviews"),
  definitionNames.subjectAccessReview,
);
/** For those who may ask about their own namespace only. */
const localSubjectAccessReviewKind = review(
  { ...authorization, kind: "LocalSubjectAccessReview", plural: "localsubjectaccessreviews", namespaced: true },
  definitionNames.localSubjectAccessReview,
);

/** All but CustomResourceDefinition, in discovery order. `ev` means core Events because they come first. */
export const builtInKinds: readonly BuiltIn[] = [
  configMapKind,
  endpointsKind,
  coreEventKind,
  limitRangeKind,
  namespaceKind,
  nodeKind,
  claimKind,
  volumeKind,
  podKind,
  podTemplateKind,
  replicationControllerKind,
  resourceQuotaKind,
  secretKind,
  serviceAccountKind,
  serviceKind,
  controllerRevisionKind,
  daemonSetKind,
  deploymentKind,
  replicaSetKind,
  statefulSetKind,
  selfSubjectReviewKind,
  tokenReviewKind,
  localSubjectAccessReviewKind,
  selfSubjectAccessReviewKind,
  selfSubjectRulesReviewKind,
  subjectAccessReviewKind,
  horizontalPodAutoscalerKind,
  cronJobKind,
  jobKind,
  certificateSigningRequestKind,
  leaseKind,
  eventKind,
  ingressKind,
  networkPolicyKind,
  podDisruptionBudgetKind,
  clusterRoleBindingKind,
  clusterRoleKind,
  roleBindingKind,
  roleKind,
  priorityClassKind,
  storageClassKind,
];
