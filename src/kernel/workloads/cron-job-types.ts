import type { KubeObject, ObjectMeta, ObjectReference } from "#kernel/model/index.ts";
import type { JobSpec } from "./job-types.ts";

export interface CronJobSpec {
  readonly schedule: string;
  readonly timeZone?: string;
  /** Missed starts older than this are skipped; without it there is no limit. */
  readonly startingDeadlineSeconds?: number;
  readonly concurrencyPolicy?: "Allow" | "Forbid" | "Replace";
  readonly suspend?: boolean;
  readonly jobTemplate: { readonly metadata?: ObjectMeta; readonly spec: JobSpec };
  readonly successfulJobsHistoryLimit?: number;
  readonly failedJobsHistoryLimit?: number;
}

export interface CronJobStatus {
  /** Unfinished Jobs of the schedule, without those of `kubectl create job --from`. */
  readonly active?: readonly ObjectReference[];
  /** The scheduled time, not the clock's, of the latest Job. */
  readonly lastScheduleTime?: string;
  readonly lastSuccessfulTime?: string;
}

export interface CronJobObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec: CronJobSpec;
  readonly status?: CronJobStatus;
}

export const scheduledAnnotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";
