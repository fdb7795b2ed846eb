import type { Condition } from "#kernel/kit/index.ts";
import type { KubeObject, ObjectMeta } from "#kernel/model/index.ts";
import type { ClaimObject } from "./claims/claim.ts";
import type { PodTemplate, ReplicaSetSpec } from "./deployment-types.ts";

// The parts of Kubernetes' apps/v1 that the controller of StatefulSets reads and writes.

/** With the defaults of the server. */
export interface StatefulSetSpec extends ReplicaSetSpec {
  /** The headless Service under which the Pods have names. */
  readonly serviceName?: string;
  readonly podManagementPolicy?: "OrderedReady" | "Parallel";
  readonly updateStrategy?: {
    readonly type?: "RollingUpdate" | "OnDelete";
    /** Pods with a lower ordinal keep the former template. */
    readonly rollingUpdate?: { readonly partition?: number };
  };
  /** Each Pod has a claim of each, named `<template>-<pod>`. */
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
  /** Pods of `currentRevision`, and of `updateRevision`; those that are ending count as neither. */
  readonly currentReplicas?: number;
  readonly updatedReplicas?: number;
  /** Names of ControllerRevisions; equal when no update is under way. */
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

/** A template that a StatefulSet has, or had. */
export interface RevisionObject extends KubeObject {
  readonly metadata: ObjectMeta;
  /** A strategic merge patch, which `kubectl rollout undo` applies to the StatefulSet. */
  readonly data: { readonly spec: { readonly template: PodTemplate & { readonly $patch?: "replace" } } };
  readonly revision: number;
}

/** On a Pod: the name of the ControllerRevision it was made from. */
export const revisionLabel = "controller-revision-hash";
