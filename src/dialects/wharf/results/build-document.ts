import type { Owner } from "#lib/base/index.node.ts";

/**
 * What a step has come to, in the order in which it does; a build and a stage use the same words.
 *
 * - None: nothing yet. A step of a stage that is not run stays None.
 * - Scheduling: it has been asked for.
 * - Initializing: its sandbox exists, the repository is being brought there.
 * - Running: its program runs.
 * - Success, Failed, Cancelled: its log is complete and its artifacts are registered.
 */
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

/** Nothing comes after it. */
export const isFinal = (status: StepStatus): boolean =>
  status === "Success" || status === "Failed" || status === "Cancelled";

/** A line of status.json: what a step has become, and when. */
export interface StatusUpdate {
  /** From 1, without gaps. */
  readonly updateId: number;
  readonly timestamp: string;
  readonly status: StepStatus;
}

/** A line of artifacts.json. */
export interface Artifact {
  /** Within the build, from 1. */
  readonly artifactId: number;
  readonly stepId: number;
  /** What the step called it: its path below the artifact root. */
  readonly name: string;
  /** Where its bytes are, relative to the directory of the step. */
  readonly path: string;
  readonly size: number;
  /** In hexadecimal; absent in the results of earlier workers. */
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

/** A step as build.json has it. Its status.json may be ahead of it. */
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
  /** For programs: `ExitCode`, `Timeout`, …; absent while nothing is wrong. */
  readonly reason?: string;
  readonly message?: string;
}

/** What is known of a build before it begins. */
export interface BuildIdentity {
  readonly buildId: number;
  readonly projectId: number;
  readonly instance: string;
  readonly runtime: string;
  readonly definitionSha256: string;
  /** Where the worker serves this build, `host:port`, if it does. */
  readonly address?: string | undefined;
}

/** build.json. */
export interface BuildDocument extends BuildIdentity {
  readonly version: 1;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly status: StepStatus;
  /** For programs: `ResultsLost`, `WorkerCrashed`, or what the worker has said. */
  readonly reason?: string;
  readonly message?: string;
  /** Nothing is added any more. */
  readonly frozen: boolean;
  readonly owner?: Owner;
  readonly stages: readonly StageRecord[];
  readonly steps: readonly StepRecord[];
}
