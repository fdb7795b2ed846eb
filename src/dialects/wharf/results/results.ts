import { join } from "node:path";
import type { Artifact, BuildDocument, StatusUpdate } from "./build-document.ts";
import type { FollowedLogs } from "./follow-logs.ts";
import type { StepLog } from "./step-log.ts";

export interface StepResults {
  readonly stepId: number;
  readonly directory: string;
  readonly log: StepLog;
  readonly updates: readonly StatusUpdate[];
  readonly artifacts: readonly Artifact[];
}

export interface Results extends FollowedLogs {
  readonly directory: string;
  readonly build: BuildDocument;
  readonly steps: readonly StepResults[];
}

// The layout of RFC-0025 with its contradictions settled:
//
//   build.json                                       identity, stages, steps, status, owner, whether it is frozen
//   steps/{stepId}/output.log                        a line for each message, whose number is its place
//   steps/{stepId}/status.json                       what the step has become, and when
//   steps/{stepId}/artifacts.json                    what it has left
//   steps/{stepId}/artifacts/{artifactId}_{fileName} the bytes
//   work/                                            scratch of the worker, never served, gone after the end

export const buildFile = (directory: string): string => join(directory, "build.json");
export const stepDirectory = (directory: string, stepId: number): string => join(directory, "steps", `${stepId}`);
export const logFile = (directory: string, stepId: number): string =>
  join(stepDirectory(directory, stepId), "output.log");
/** The truth; build.json may lag behind. */
export const statusFile = (stepDirectory: string): string => join(stepDirectory, "status.json");
export const artifactsFile = (stepDirectory: string): string => join(stepDirectory, "artifacts.json");
/** Never served; removed at the end. */
export const workDirectory = (directory: string): string => join(directory, "work");

export const statusDocument = (updates: readonly StatusUpdate[]): object => ({
  lastId: updates.at(-1)?.updateId ?? 0,
  statusUpdates: updates,
});
export const artifactsDocument = (artifacts: readonly Artifact[]): object => ({
  lastId: artifacts.at(-1)?.artifactId ?? 0,
  artifacts,
});
