import { amend } from "./amend.ts";
import { decide } from "./approvals.ts";
import { cancelNode, cancelScope, settleTree } from "./ending.ts";
import type { ActionFact, ActionName } from "./facts.ts";
import { finalScope, mainScope } from "./layout.ts";
import { isMainSettled, type Ledger, put, retime, stateOf, stepOf } from "./ledger.ts";
import { reasons, wordsOf } from "./reasons.ts";
import { isTerminal, type RunState } from "./run.ts";
import { afterSuspension, type Why } from "./transitions.ts";
import type { Instant } from "./values.ts";

/** Order of actions: `retry` first, so that others apply to the new run number; `reject` outranks `approve`. */
export const actionOrder: readonly ActionName[] = ["retry", "cancel", "suspend", "resume", "reject", "approve", "skip"];

/** False if the state has no use for it. */
export function act(ledger: Ledger, fact: ActionFact): boolean {
  if (isTerminal(ledger.run.phase)) return false;
  if (fact.number !== undefined && fact.number !== ledger.run.number) return false;
  return fact.step === undefined ? actOnRun(ledger, fact) : actOnStep(ledger, fact, fact.step);
}

/** Actions without a step. True also if nothing changes. */
function actOnRun(ledger: Ledger, fact: ActionFact): boolean {
  switch (fact.action) {
    case "cancel":
      return cancelRun(ledger, fact);
    case "suspend":
      if (ledger.run.closing !== undefined) return false;
      if (ledger.run.suspendRequested !== true) ledger.run = amend(ledger.run, { suspendRequested: true });
      return true;
    case "resume":
      return resumeRun(ledger);
    case "approve":
    case "reject":
    case "skip":
    case "retry":
      return false;
  }
}

/** A cancel replaces a deadline's closing; a forced one ends final steps, too. */
function cancelRun(ledger: Ledger, fact: ActionFact): boolean {
  const why = { reason: reasons.runCanceled, message: wordsOf(fact) };
  const force = fact.force === true;
  const { closing, forced, message } = ledger.run;
  if (closing !== "Cancel" || (force && forced !== true)) {
    ledger.run = amend(ledger.run, {
      closing: "Cancel",
      forced: force ? true : forced,
      suspendRequested: undefined,
      // A second cancel without a name keeps the first one's message.
      message: why.message ?? (closing === "Cancel" ? message : undefined),
    });
  }
  if (!isMainSettled(ledger)) cancelScope(ledger, mainScope, why);
  if (force) cancelFinal(ledger, why);
  return true;
}

/** Unstarted final steps are settled by `openFinal`. */
function cancelFinal(ledger: Ledger, why: Why): void {
  const final = finalScope(ledger.layout);
  if (final === undefined || ledger.run.final === undefined) return;
  ledger.run = amend(ledger.run, { final: amend(ledger.run.final, { closing: "Cancel" }) });
  cancelScope(ledger, final.index, why);
}

function resumeRun(ledger: Ledger): boolean {
  if (ledger.run.suspendRequested !== true) return false;
  ledger.run = amend(ledger.run, { suspendRequested: undefined });
  return true;
}

/** Also for groups. False without an arrow in the transition table. */
function actOnStep(ledger: Ledger, fact: ActionFact, id: string): boolean {
  const node = ledger.layout.nodeById.get(id);
  if (node === undefined) return false;
  const { phase } = stateOf(ledger, node);
  if (stepOf(ledger, node).kind === "barrier" || isTerminal(phase)) return false;
  switch (fact.action) {
    case "cancel":
      if (phase === "Cancelling") return false;
      cancelNode(ledger, node, { reason: reasons.stepCanceled, message: wordsOf(fact) });
      return true;
    case "resume":
    case "approve":
    case "reject":
      return phase === "Suspended" && decide(ledger, node, fact);
    case "skip":
      if (phase !== "Pending" && phase !== "Waiting") return false;
      settleTree(ledger, node, "Skipped", { reason: "ConditionFalse", message: wordsOf(fact) });
      return true;
    case "suspend":
    case "retry":
      return false;
  }
}

export function syncSuspension(ledger: Ledger): void {
  const { run, now } = ledger;
  const asked = ledger.layout.plan.policy.suspended === true || run.suspendRequested === true;
  const wanted = asked && run.closing === undefined;
  if (wanted === (run.suspendedSince !== undefined)) return;
  ledger.run = wanted ? amend(run, { suspendedSince: now }) : endSuspension(run, now);
  if (!wanted) creditSteps(ledger, run.suspendedSince ?? now);
  retime(ledger);
}

/** Adds its length to what deadlines exclude. */
function endSuspension(run: RunState, now: Instant): RunState {
  const since = run.suspendedSince ?? now;
  // No clock runs before the start.
  const spent = run.startedAt === undefined ? 0 : Math.max(0, now - since);
  const inFinal = run.final === undefined ? 0 : Math.max(0, now - Math.max(since, run.final.startedAt));
  return amend(run, {
    suspendedSince: undefined,
    suspendedFor: run.suspendedFor + spent,
    final: run.final && amend(run.final, { suspendedFor: (run.final.suspendedFor ?? 0) + inFinal }),
  });
}

/** Adds its length to every step that has begun. */
function creditSteps(ledger: Ledger, since: Instant): void {
  for (const [node, state] of ledger.states.entries()) {
    if (state.phase === "Pending" || isTerminal(state.phase) || stepOf(ledger, node).kind === "barrier") continue;
    if (ledger.now > since) put(ledger, node, afterSuspension(state, since, ledger.now));
  }
}
