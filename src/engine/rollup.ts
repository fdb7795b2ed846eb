import { blame } from "./ending.ts";
import { failedNodes, firstBadOf } from "./gate-scope.ts";
import { finalScope, mainScope } from "./layout.ts";
import { isFinalSettled, isMainSettled, type Ledger, openLedger } from "./ledger.ts";
import type { Plan } from "./plan.ts";
import { reasons } from "./reasons.ts";
import type { RunPhase, RunState } from "./run.ts";

export type Summary = Pick<RunState, "phase" | "reason" | "message">;

/** O(V + E); `advance` has done it for the run it returns. */
export const rollup = (plan: Plan, run: RunState): Summary => summarize(openLedger(plan, run, 0));

/** Like `rollup`. O(1) until the run is over. */
export function summarize(ledger: Ledger): Summary {
  if (isMainSettled(ledger) && isFinalSettled(ledger)) return outcomeOf(ledger);
  const { closing } = ledger.run;
  if (closing !== undefined) {
    return closed(ledger, "Cancelling", closing === "Cancel" ? reasons.runCanceled : reasons.deadline);
  }
  return { phase: phaseOf(ledger) };
}

/** Suspended if requested, or if all started unsettled steps wait for people. */
function phaseOf(ledger: Ledger): RunPhase {
  if (ledger.run.suspendedSince !== undefined) return "Suspended";
  if (ledger.live > 0 && ledger.live === ledger.suspended) return "Suspended";
  return ledger.moved === 0 ? "Pending" : "Running";
}

/** Cancel before deadline before failures, main before final steps. */
function outcomeOf(ledger: Ledger): Summary {
  if (ledger.run.closing === "Cancel") return closed(ledger, "Canceled", reasons.canceled);
  if (ledger.run.closing === "Deadline") return closed(ledger, "Failed", reasons.deadline);
  const bad = firstBadOf(ledger, mainScope);
  if (bad !== undefined) return failed(ledger, mainScope, bad, reasons.stepFailed);
  const final = finalScope(ledger.layout);
  const worse = final === undefined ? undefined : firstBadOf(ledger, final.index);
  if (final === undefined || worse === undefined) return { phase: "Succeeded" };
  return failed(ledger, final.index, worse, reasons.finalStepFailed);
}

const closed = ({ run: { message } }: Ledger, phase: RunPhase, reason: string): Summary =>
  message === undefined ? { phase, reason } : { phase, reason, message };

/** `step "build" failed (and 2 others): exit code 1`. */
function failed(ledger: Ledger, scope: number, node: number, reason: string): Summary {
  const others = Math.max(0, failedNodes(ledger, scope).length - 1);
  return { phase: "Failed", reason, message: blame(ledger, node, others) };
}
