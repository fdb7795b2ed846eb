import { deploymentKind, replicaSetKind, statefulSetKind } from "./apps.ts";
import type { BuiltIn } from "./built-in.ts";
import { cronJobKind } from "./cron-job.ts";
import { claimKind } from "./claim.ts";
import { coreEventKind, eventKind } from "./event.ts";
import { jobKind } from "./job.ts";
import { nodeKind } from "./node.ts";
import { podKind } from "./pod.ts";
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from "./rbac.ts";
import {
  localSubjectAccessReviewKind,
  selfSubjectAccessReviewKind,
  selfSubjectReviewKind,
  selfSubjectRulesReviewKind,
  subjectAccessReviewKind,
  tokenReviewKind,
} from "./reviews.ts";
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
