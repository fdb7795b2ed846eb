import type { JsonObject } from "#lib/base/index.ts";
import type { StepStatus, WorkflowStatusFields } from "../kinds.ts";

// What the statuses of Applications (`status.workflow`) and WorkflowRuns (`status`) share, as far as it is read here.

export type WorkflowStatus = WorkflowStatusFields;
export type ResourceRef = NonNullable<WorkflowStatus["contextBackend"]>;
export type { StepStatus };

export type WorkflowPhase =
  | "initializing"
  | "executing"
  | "suspending"
  | "terminated"
  | "failed"
  | "succeeded"
  | "skipped";

export const requested = "Requested";

/** Reasons of steps; clients rely on the words. */
export const stepReasons = {
  wait: "Wait",
  skip: "Skip",
  rendering: "Rendering",
  execute: "Execute",
  suspend: "Suspend",
  terminate: "Terminate",
  input: "Input",
  output: "Output",
  retries: "FailedAfterRetries",
  timeout: "Timeout",
  action: "Action",
} as const;

/** What else a condition reads of a step: one flag for each way to end. */
export const stepFlags = ({ phase, reason }: StepStatus): JsonObject => ({
  failed: phase === "failed",
  succeeded: phase === "succeeded",
  skipped: phase === "skipped",
  timeout: reason === stepReasons.timeout,
  failedAfterRetries: reason === stepReasons.retries,
  terminate: reason === stepReasons.terminate,
});

/** A failed step with this reason is executed again. */
export const isRetried = ({ phase, reason }: StepStatus): boolean =>
  phase === "failed" && (reason === stepReasons.execute || reason === undefined || reason === "");

export const isSettled = (step: StepStatus): boolean =>
  step.phase === "succeeded" || step.phase === "skipped" || (step.phase === "failed" && !isRetried(step));

/** All steps of a status with their sub-steps. */
export const flatSteps = (status: WorkflowStatus | undefined): readonly StepStatus[] =>
  (status?.steps ?? []).flatMap((step) => [step, ...(step.subSteps ?? [])]);
