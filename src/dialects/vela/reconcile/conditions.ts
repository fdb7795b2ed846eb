import type { Instant } from "#lib/base/index.ts";
import { type Condition, withCondition } from "#kernel/kit/index.ts";
import type { ApplicationStatus } from "../kinds.ts";

export type ConditionType = "Parsed" | "Revision" | "Policy" | "Render" | "Workflow" | "Ready";

/** What clients of KubeVela wait for. */
export type ConditionReason = "Available" | "ReconcileSuccess" | "ReconcileError" | "Creating" | "Deleting";

export type ApplicationPhase =
  | "starting"
  | "rendering"
  | "generatingPolicy"
  | "runningWorkflow"
  | "workflowSuspending"
  | "workflowTerminated"
  | "workflowFailed"
  | "running"
  | "unhealthy"
  | "deleting";

/** Both fields: the original's definition has `status.status`, its proposal `status.phase`. */
export const withPhase = (status: ApplicationStatus, phase: ApplicationPhase): ApplicationStatus =>
  status.status === phase && status.phase === phase ? status : { ...status, status: phase, phase };

/** Holds, with `message` for people. */
export const succeeded = (
  status: ApplicationStatus,
  type: ConditionType,
  now: Instant,
  reason: ConditionReason = "Available",
): ApplicationStatus => put(status, { type, status: "True", reason }, now);

export const failed = (
  status: ApplicationStatus,
  type: ConditionType,
  message: string,
  now: Instant,
  reason: ConditionReason = "ReconcileError",
): ApplicationStatus => put(status, { type, status: "False", reason, message }, now);

/** A stage failed, so the application is not ready. */
export const notReady = (
  status: ApplicationStatus,
  type: ConditionType,
  message: string,
  now: Instant,
): ApplicationStatus => failed(failed(status, type, message, now), "Ready", message, now);

/** Not decided yet. */
export const pending = (
  status: ApplicationStatus,
  type: ConditionType,
  reason: ConditionReason,
  now: Instant,
): ApplicationStatus => put(status, { type, status: "False", reason }, now);

function put(
  status: ApplicationStatus,
  condition: Omit<Condition, "lastTransitionTime">,
  now: Instant,
): ApplicationStatus {
  const before = (status.conditions ?? []) as readonly Condition[];
  const conditions = withCondition(before, condition, now);
  return conditions === before ? status : { ...status, conditions };
}

/** Without conditions of later stages, which say nothing about what comes now. */
export function withoutConditions(status: ApplicationStatus, types: readonly ConditionType[]): ApplicationStatus {
  const names: readonly string[] = types;
  const kept = (status.conditions ?? []).filter(({ type }) => !names.includes(type));
  return kept.length === (status.conditions ?? []).length ? status : { ...status, conditions: kept };
}
