import { isTerminal, reasons, type StepState } from "#engine/index.ts";
import { isRetried, stepReasons, type StepStatus } from "./status.ts";

type Shown = Pick<StepStatus, "phase" | "reason" | "message">;

/** Strongest first. */
const strength: readonly string[] = [
  stepReasons.retries,
  stepReasons.timeout,
  stepReasons.action,
  stepReasons.terminate,
];

/** The phase of a group that has left pending: its own end, or what its steps amount to. */
export function groupStatus(
  own: StepState,
  entry: StepStatus,
  subSteps: readonly StepStatus[],
  declared: number,
): Shown {
  if (own.phase === "Skipped") return {};
  if (own.reason === reasons.stepDeadline || (own.phase === "Failed" && own.reason === stepReasons.timeout))
    return { phase: "failed", reason: stepReasons.timeout };
  if (!isTerminal(own.phase)) return underWay(subSteps, declared);
  const failed = subSteps.filter(({ phase }) => phase === "failed");
  if (failed.length > 0) return { phase: "failed", reason: strongest(failed), message: failed[0]?.message ?? "" };
  const isSkipped = subSteps.length > 0 && subSteps.every(({ phase }) => phase === "skipped");
  if (isSkipped) return { phase: "skipped", reason: stepReasons.skip };
  return entry.phase === "failed" && own.reason === stepReasons.terminate ? {} : { phase: "succeeded", reason: "" };
}

function underWay(subSteps: readonly StepStatus[], declared: number): Shown {
  const has = (phase: string) => subSteps.some((step) => step.phase === phase);
  if (has("suspending")) return { phase: "suspending", reason: stepReasons.suspend };
  const isRunning = subSteps.length < declared || has("running") || subSteps.some(isRetried);
  if (!isRunning && has("pending")) return { phase: "pending", reason: "" };
  return { phase: "running", reason: "" };
}

function strongest(failed: readonly StepStatus[]): string {
  const found = failed.map(({ reason = "" }) => reason);
  return strength.find((reason) => found.includes(reason)) ?? found[0] ?? stepReasons.retries;
}
