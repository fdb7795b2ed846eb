import type { Condition } from "#kernel/kit/index.ts";
import type { KubeObject, ObjectMeta } from "#kernel/model/index.ts";
import type { PodSpec } from "./pod-types.ts";

// The parts of Kubernetes' Job that its controller reads and writes.

/** One rule of a `podFailurePolicy`. Exactly one of its two requirements is set. */
export interface FailureRule {
  readonly action: "Ignore" | "FailJob" | "Count" | "FailIndex";
  readonly onExitCodes?: {
    readonly containerName?: string;
    readonly operator: "In" | "NotIn";
    readonly values: readonly number[];
  };
  readonly onPodConditions?: readonly { readonly type: string; readonly status?: string }[];
}

/** One rule of a `successPolicy`. With both: that many of these indexes. */
export interface SuccessRule {
  /** `0-2,5` */
  readonly succeededIndexes?: string;
  readonly succeededCount?: number;
}

/** Stored Jobs have Kubernetes' defaults filled in; what is optional here may nevertheless be missing and then has the same meaning. */
export interface JobSpec {
  readonly parallelism?: number;
  /** Absent: a work queue. */
  readonly completions?: number;
  readonly completionMode?: "NonIndexed" | "Indexed";
  readonly backoffLimit?: number;
  readonly backoffLimitPerIndex?: number;
  readonly maxFailedIndexes?: number;
  /** Counts from `status.startTime`, and not while the Job is suspended. */
  readonly activeDeadlineSeconds?: number;
  readonly ttlSecondsAfterFinished?: number;
  readonly suspend?: boolean;
  /** When a deleted pod is replaced: at once, or not before it has ended. */
  readonly podReplacementPolicy?: "TerminatingOrFailed" | "Failed";
  readonly podFailurePolicy?: { readonly rules: readonly FailureRule[] };
  readonly successPolicy?: { readonly rules: readonly SuccessRule[] };
  readonly managedBy?: string;
  readonly template: { readonly metadata?: ObjectMeta; readonly spec: PodSpec };
}

/** What this controller writes. Fields that are not named here are kept as they are. */
export interface JobStatus {
  readonly active?: number;
  readonly ready?: number;
  /** Deleted and not yet ended: they still run. */
  readonly terminating?: number;
  readonly succeeded?: number;
  readonly failed?: number;
  readonly startTime?: string;
  readonly completionTime?: string;
  readonly completedIndexes?: string;
  readonly failedIndexes?: string;
  /** Uids of pods that have ended and that the counters do not have yet; see `planJob`. */
  readonly uncountedTerminatedPods?: { readonly succeeded?: readonly string[]; readonly failed?: readonly string[] };
  readonly conditions?: readonly JobCondition[];
}

/** A condition with the time at which it was last set, whatever of it has changed. */
export interface JobCondition extends Condition {
  readonly lastProbeTime?: string;
}

export interface JobObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec: JobSpec;
  readonly status?: JobStatus;
}

/** Keeps a pod until its end has been counted. */
export const trackingFinalizer = "batch.kubernetes.io/job-tracking";
/** Which index of an Indexed Job a pod works on, and how often that index had failed before. */
export const indexAnnotation = "batch.kubernetes.io/job-completion-index";
export const failureCountAnnotation = "batch.kubernetes.io/job-index-failure-count";
