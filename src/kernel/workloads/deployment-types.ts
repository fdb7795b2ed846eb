import type { Condition } from "#kernel/kit/index.ts";
import type { KubeObject, ObjectMeta } from "#kernel/model/index.ts";
import type { PodSpec } from "./pod-types.ts";

export interface PodTemplate {
  readonly metadata?: ObjectMeta;
  readonly spec: PodSpec;
}

export interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface ReplicaSetSpec {
  readonly replicas?: number;
  readonly selector: Selector;
  readonly template: PodTemplate;
  readonly minReadySeconds?: number;
}

/** Counts Pods that have neither ended nor are being deleted. */
export interface ReplicaSetStatus {
  readonly replicas: number;
  readonly fullyLabeledReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly terminatingReplicas?: number;
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
}

export interface ReplicaSetObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec: ReplicaSetSpec;
  readonly status?: ReplicaSetStatus;
}

export type CountOrShare = number | string;

/** The server has filled in defaults: only `paused` may be absent in a stored object. */
export interface DeploymentSpec extends ReplicaSetSpec {
  readonly strategy?: {
    readonly type?: "Recreate" | "RollingUpdate";
    readonly rollingUpdate?: { readonly maxSurge?: CountOrShare; readonly maxUnavailable?: CountOrShare };
  };
  /** A paused Deployment creates no new set, so that several changes become one rollout. */
  readonly paused?: boolean;
  readonly revisionHistoryLimit?: number;
  /** 2147483647 means no deadline. */
  readonly progressDeadlineSeconds?: number;
}

export interface DeploymentCondition extends Condition {
  readonly lastUpdateTime?: string;
}

/** Sums over its sets. Absent members are 0. */
export interface DeploymentStatus {
  /** `kubectl rollout status` trusts the counts only if this is the current generation. */
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly unavailableReplicas?: number;
  readonly terminatingReplicas?: number;
  /** How often the name of a new ReplicaSet was taken by a set of another template. */
  readonly collisionCount?: number;
  readonly conditions?: readonly DeploymentCondition[];
}

export interface DeploymentObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec: DeploymentSpec;
  readonly status?: DeploymentStatus;
}

export const templateHashLabel = "pod-template-hash";
export const revisionAnnotation = "deployment.kubernetes.io/revision";
/** Earlier revisions of a ReplicaSet whose template came back. */
export const revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history";
/** The Deployment's replicas when it last scaled this ReplicaSet. */
export const desiredAnnotation = "deployment.kubernetes.io/desired-replicas";
/** The most Pods the Deployment could have had then. */
export const mostAnnotation = "deployment.kubernetes.io/max-replicas";
export const deletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost";
