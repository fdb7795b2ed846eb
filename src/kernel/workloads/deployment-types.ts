import type { Condition } from "#kernel/kit/index.ts";
import type { KubeObject, ObjectMeta } from "#kernel/model/index.ts";
import type { PodSpec } from "./pod-types.ts";

// The parts of Kubernetes' apps/v1 that the controllers of Deployments and ReplicaSets read and write.

/** What the Pods of a set look like. Its labels are those the selector finds them by. */
export interface PodTemplate {
  readonly metadata?: ObjectMeta;
  readonly spec: PodSpec;
}

/** As stored: the kit's `readLabelSelector` gives it a meaning. */
export interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface ReplicaSetSpec {
  /** 1 when absent. */
  readonly replicas?: number;
  readonly selector: Selector;
  readonly template: PodTemplate;
  /** How long a Pod has to be ready before it counts as available; 0 when absent. */
  readonly minReadySeconds?: number;
}

/** Counts of Pods that have neither ended nor begun to end. */
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

/** A number, or a share of the replicas such as `25%`. */
export type CountOrShare = number | string;

/** With the defaults of the server: every member but `paused` is there in a stored object. */
export interface DeploymentSpec extends ReplicaSetSpec {
  readonly strategy?: {
    readonly type?: "Recreate" | "RollingUpdate";
    /** Of RollingUpdate only. Never both nothing. */
    readonly rollingUpdate?: { readonly maxSurge?: CountOrShare; readonly maxUnavailable?: CountOrShare };
  };
  /** While it is true a new template makes no set, so that several changes become one rollout. */
  readonly paused?: boolean;
  /** Former sets that are kept for `kubectl rollout undo`; 0 keeps none, and nothing can be undone. */
  readonly revisionHistoryLimit?: number;
  /** Seconds without progress; 2147483647 is no deadline. */
  readonly progressDeadlineSeconds?: number;
}

/** A Deployment's condition tells of its last change besides its last transition. */
export interface DeploymentCondition extends Condition {
  readonly lastUpdateTime?: string;
}

/** Sums over its sets, as these count themselves. Absent members are 0. */
export interface DeploymentStatus {
  /** `kubectl rollout status` believes the counts only when it is the present generation. */
  readonly observedGeneration?: number;
  /** Pods of all templates. */
  readonly replicas?: number;
  /** Pods of the present template. */
  readonly updatedReplicas?: number;
  readonly readyReplicas?: number;
  /** Ready for `minReadySeconds`. */
  readonly availableReplicas?: number;
  /** Pods that its sets want and that are not available. */
  readonly unavailableReplicas?: number;
  readonly terminatingReplicas?: number;
  /** How often a new ReplicaSet's name was taken by one of another template. */
  readonly collisionCount?: number;
  readonly conditions?: readonly DeploymentCondition[];
}

export interface DeploymentObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec: DeploymentSpec;
  readonly status?: DeploymentStatus;
}

/** Told apart by it: the ReplicaSets of a Deployment, and their Pods. */
export const templateHashLabel = "pod-template-hash";
/** Counts the templates of a Deployment; `kubectl rollout undo --to-revision` names it. */
export const revisionAnnotation = "deployment.kubernetes.io/revision";
/** Revisions that one ReplicaSet had before, when a template came back. */
export const revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history";
/** The Deployment's replicas when this ReplicaSet was last scaled by it. */
export const desiredAnnotation = "deployment.kubernetes.io/desired-replicas";
/** The most Pods the Deployment could have had then. */
export const mostAnnotation = "deployment.kubernetes.io/max-replicas";
/** Integers; Pods with a lower cost are ended first. */
export const deletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost";
