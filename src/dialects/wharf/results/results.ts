import { join } from "node:path";
import type { Artifact, BuildDocument, StatusUpdate } from "./build-document.ts";
import type { FollowedLogs } from "./follow-logs.ts";
import type { StepLog } from "./step-log.ts";

/** What a step has left so far. The lists grow at their end alone. */
export interface StepResults {
  readonly stepId: number;
  /** Of the step; paths of artifacts are relative to it. */
  readonly directory: string;
  readonly log: StepLog;
  readonly updates: readonly StatusUpdate[];
  readonly artifacts: readonly Artifact[];
}

/** The results of a build for who reads them, whether it runs or has ended. */
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

/** Identity, stages, steps, owner: written first, and last. */
export const buildFile = (directory: string): string => join(directory, "build.json");
/** Everything of one step. */
export const stepDirectory = (directory: string, stepId: number): string => join(directory, "steps", `${stepId}`);
/** Its lines are numbered by their place in it; it has nothing but lines. */
export const logFile = (directory: string, stepId: number): string =>
  join(stepDirectory(directory, stepId), "output.log");
/** Of what a step has become, the truth: build.json may be behind it. */
export const statusFile = (stepDirectory: string): string => join(stepDirectory, "status.json");
/** What is not in it is not there, whatever lies in the directory. */
export const artifactsFile = (stepDirectory: string): string => join(stepDirectory, "artifacts.json");
/** Scratch of the worker, never served. */
export const workDirectory = (directory: string): string => join(directory, "work");

/** status.json. */
export const statusDocument = (updates: readonly StatusUpdate[]): object => ({
  lastId: updates.at(-1)?.updateId ?? 0,
  statusUpdates: updates,
});
/** artifacts.json. */
export const artifactsDocument = (artifacts: readonly Artifact[]): object => ({
  lastId: artifacts.at(-1)?.artifactId ?? 0,
  artifacts,
});
