import type { KubeObject, ObjectMeta, ObjectReference } from "#kernel/model/index.ts";
import type { JobSpec } from "./job-types.ts";

// The parts of Kubernetes' CronJob that its controller reads and writes.

export interface CronJobSpec {
  /** Five fields or a macro, which the server has checked. */
  readonly schedule: string;
  /** A name of the IANA database; the zone of this machine when absent. */
  readonly timeZone?: string;
  /** Seconds after which a start that was missed is given up; without limit when absent. */
  readonly startingDeadlineSeconds?: number;
  /** What happens at a time at which a Job still runs: another one, none, or another one instead. Allow when absent. */
  readonly concurrencyPolicy?: "Allow" | "Forbid" | "Replace";
  readonly suspend?: boolean;
  /** Metadata are labels and annotations; a name there has no meaning. */
  readonly jobTemplate: { readonly metadata?: ObjectMeta; readonly spec: JobSpec };
  /** How many ended Jobs are kept for people to look at; 3 and 1 when absent. */
  readonly successfulJobsHistoryLimit?: number;
  readonly failedJobsHistoryLimit?: number;
}

export interface CronJobStatus {
  /** Jobs made by the schedule that have not ended. Those of `kubectl create job --from` are not among them. */
  readonly active?: readonly ObjectReference[];
  /** The time of the schedule, not of the clock, for which a Job was made last. */
  readonly lastScheduleTime?: string;
  readonly lastSuccessfulTime?: string;
}

export interface CronJobObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec: CronJobSpec;
  readonly status?: CronJobStatus;
}

/** On every Job of a schedule: the time it was made for, in the schedule's zone. Known to Kubernetes since 1.32. */
export const scheduledAnnotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";
