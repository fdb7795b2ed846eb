import type { Condition } from "#kernel/kit/index.ts";
import type { KubeObject, ObjectMeta } from "#kernel/model/index.ts";
import type { PodSpec } from "./pod-types.ts";

// The parts of Kubernetes' Job that its controller reads and writes.

export interface FailureRule {
  readonly action: "Ignore" | "FailJob" | "Count" | "FailIndex";
  readonly onExitCodes?: {
    readonly containerName?: string;
    readonly operator: "In" | "NotIn";
    readonly values: readonly number[];
  };
  readonly onPodConditions?: readonly { readonly type: string; readonly status?: string }[];
}

export interface SuccessRule {
  readonly succeededIndexes?: string;
  readonly succeededCount?: number;
}

export interface JobSpec {
  readonly parallelism?: number;
  readonly completions?: number;
  readonly completionMode?: "NonIndexed" | "Indexed";
  readonly backoffLimit?: number;
  readonly backoffLimitPerIndex?: number;
  readonly maxFailedIndexes?: number;
  readonly activeDeadlineSeconds?: number;
  readonly ttlSecondsAfterFinished?: number;
  readonly suspend?: boolean;
  readonly podReplacementPolicy?: "TerminatingOrFailed" | "Failed";
  readonly podFailurePolicy?: { readonly rules: readonly FailureRule[] };
  readonly successPolicy?: { readonly rules: readonly SuccessRule[] };
  readonly managedBy?: string;
  readonly template: { readonly metadata?: ObjectMeta; readonly spec: PodSpec };
}

export interface JobStatus {
  readonly active?: number;
  readonly ready?: number;
  readonly terminating?: number;
  readonly succeeded?: number;
  readonly failed?: number;
  readonly startTime?: string;
  readonly completionTime?: string;
  readonly completedIndexes?: string;
  readonly failedIndexes?: string;
  readonly uncountedTerminatedPods?: { readonly succeeded?: readonly string[]; readonly failed?: readonly string[] };
  readonly conditions?: readonly Condition[];
}

export interface JobObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec: JobSpec;
  readonly status?: JobStatus;
}

/** Keeps a pod until its end has been counted. */
export const trackingFinalizer = "batch.kubernetes.io/job-tracking";
export const indexAnnotation = "batch.kubernetes.io/job-completion-index";
export const failureCountAnnotation = "batch.kubernetes.io/job-index-failure-count";
