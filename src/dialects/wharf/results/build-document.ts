import type { Owner } from "#lib/base/index.node.ts";

/** Statuses of steps in their order; builds and stages use the same words. Steps of skipped stages stay None.
 * Initializing: the repository is being transferred. Success, Failed, Cancelled: log and artifacts are complete. */
export type StepStatus = "None" | "Scheduling" | "Initializing" | "Running" | "Success" | "Failed" | "Cancelled";

export const stepStatuses: readonly StepStatus[] = [
  "None",
  "Scheduling",
  "Initializing",
  "Running",
  "Success",
  "Failed",
  "Cancelled",
];

export const isFinal = (status: StepStatus): boolean =>
  status === "Success" || status === "Failed" || status === "Cancelled";

export interface StatusUpdate {
  readonly updateId: number;
  readonly timestamp: string;
  readonly status: StepStatus;
}

export interface Artifact {
  readonly artifactId: number;
  readonly stepId: number;
  readonly name: string;
  /** Relative to the directory of the step. */
  readonly path: string;
  readonly size: number;
  /** Absent in results of earlier workers. */
  readonly sha256?: string;
  readonly contentType: string;
  readonly testResults: boolean;
}

export interface StageRecord {
  readonly stageId: number;
  readonly name: string;
  readonly runsIf: "success" | "fail" | "always";
  readonly steps: readonly number[];
  readonly status: StepStatus;
}

export interface StepRecord {
  readonly stepId: number;
  readonly stageId: number;
  readonly name: string;
  readonly type: string;
  readonly image: string;
  readonly status: StepStatus;
  readonly exitCode: number | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** For programs: `ExitCode`, `Timeout`, … */
  readonly reason?: string;
  readonly message?: string;
}

export interface BuildIdentity {
  readonly buildId: number;
  readonly projectId: number;
  readonly instance: string;
  readonly runtime: string;
  readonly definitionSha256: string;
  /** `host:port` of the worker's API. */
  readonly address?: string | undefined;
}

export interface BuildDocument extends BuildIdentity {
  readonly version: 1;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly status: StepStatus;
  /** For programs: `ResultsLost`, `WorkerCrashed` or the worker's own. */
  readonly reason?: string;
  readonly message?: string;
  readonly frozen: boolean;
  readonly owner?: Owner;
  readonly stages: readonly StageRecord[];
  readonly steps: readonly StepRecord[];
}
