import type { JsonObject } from "#lib/base/index.ts";

// What the statuses of Applications (`status.workflow`) and WorkflowRuns (`status`) share, as far as it is read here.

export interface ResourceRef {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
}

export interface StepStatus {
  readonly id?: string;
  readonly name?: string;
  readonly type?: string;
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly firstExecuteTime?: string;
  readonly lastExecuteTime?: string;
  readonly resourceRef?: ResourceRef;
  /** Starts so far. */
  readonly attempts?: number;
  /** Finished executions so far. Never falls, so that it names an execution. */
  readonly executions?: number;
  /** Failed attempts since the last resume. */
  readonly failures?: number;
  /** Executions in a row that changed nothing. */
  readonly waits?: number;
  readonly nextTime?: string;
  readonly gate?: boolean;
  /** Digest of the patches of components that it exported. */
  readonly patches?: string;
  readonly subSteps?: readonly StepStatus[];
}

export type WorkflowPhase =
  | "initializing"
  | "executing"
  | "suspending"
  | "terminated"
  | "failed"
  | "succeeded"
  | "skipped";

export interface WorkflowStatus {
  readonly status?: string;
  readonly message?: string;
  readonly suspend?: boolean;
  /** `Requested`: a person suspended the run, and nothing is executed. */
  readonly suspendState?: string;
  readonly terminated?: boolean;
  readonly finished?: boolean;
  readonly stepIndex?: number;
  readonly contextBackend?: ResourceRef;
  readonly steps?: readonly StepStatus[];
  readonly startTime?: string;
  readonly endTime?: string;
}

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
