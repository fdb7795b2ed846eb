import type { Condition } from "#kernel/kit/index.ts";
import type { KubeObject, ObjectMeta } from "#kernel/model/index.ts";
import type { ClaimObject } from "./claims/claim.ts";
import type { PodTemplate, ReplicaSetSpec } from "./deployment-types.ts";

export interface StatefulSetSpec extends ReplicaSetSpec {
  readonly serviceName?: string;
  readonly podManagementPolicy?: "OrderedReady" | "Parallel";
  readonly updateStrategy?: {
    readonly type?: "RollingUpdate" | "OnDelete";
    readonly rollingUpdate?: { readonly partition?: number };
  };
  readonly volumeClaimTemplates?: readonly ClaimTemplate[];
  readonly revisionHistoryLimit?: number;
  readonly ordinals?: { readonly start?: number };
  readonly persistentVolumeClaimRetentionPolicy?: {
    readonly whenDeleted?: "Retain" | "Delete";
    readonly whenScaled?: "Retain" | "Delete";
  };
}

export interface ClaimTemplate {
  readonly metadata: ObjectMeta & { readonly name: string };
  readonly spec: ClaimObject["spec"];
}

export interface StatefulSetStatus {
  readonly observedGeneration?: number;
  readonly replicas: number;
  readonly readyReplicas?: number;
  readonly availableReplicas: number;
  /** Pods that are being deleted do not count. */
  readonly currentReplicas?: number;
  readonly updatedReplicas?: number;
  /** Names of ControllerRevisions; equal if no update is in progress. */
  readonly currentRevision?: string;
  readonly updateRevision?: string;
  readonly collisionCount?: number;
  readonly conditions?: readonly Condition[];
}

export interface StatefulSetObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec: StatefulSetSpec;
  readonly status?: StatefulSetStatus;
}

export interface RevisionObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly data: { readonly spec: { readonly template: PodTemplate & { readonly $patch?: "replace" } } };
  readonly revision: number;
}

export const revisionLabel = "controller-revision-hash";
