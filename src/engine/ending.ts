import { int, item } from "./arrays.ts";
import { isClosing } from "./closing.ts";
import { cancelItems, giveUpItems } from "./fan.ts";
import { firstBadOf, gateScope, nodesOf } from "./gate-scope.ts";
import { mainScope } from "./layout.ts";
import { idOf, type Ledger, put, putBarrier, stateOf, stepOf } from "./ledger.ts";
import type { Failure, PlanStep } from "./plan.ts";
import { andOthers, reasons } from "./reasons.ts";
import { isTerminal, type Outcome, type StepState } from "./run.ts";
import { toBackoff, toCancelling, toNextRound, toOutcome, triesOf, type Why } from "./transitions.ts";

// Ends of steps: settling, cancelling, failed attempts, groups.

/** Settles a node without a child, and a group with its steps. */
export function settleTree(ledger: Ledger, node: number, outcome: Outcome, why: Why): void {
  put(ledger, node, toOutcome(stateOf(ledger, node), outcome, ledger.now, why));
  const nested = int(ledger.layout.nested, node);
  if (nested < 0) return;
  // Steps of a group share its fate; a failed gate leaves nothing to run for.
  const inner: Why = outcome === "Failed" ? { reason: "DependencyFailed" } : why;
  settleAll(ledger, nested, outcome === "Failed" ? "Skipped" : outcome, inner);
}

/** Settles a scope without active steps. */
export function settleAll(ledger: Ledger, scope: number, outcome: Outcome, why: Why): void {
  const { plan, base } = item(ledger.layout.scopes, scope);
  for (const local of plan.graph.order) {
    const node = base + local;
    if (stepOf(ledger, node).kind === "barrier") putBarrier(ledger, node);
    else if (!isTerminal(stateOf(ledger, node).phase)) settleTree(ledger, node, outcome, why);
  }
}

/** Settled and cancelling nodes stay. */
export function cancelNode(ledger: Ledger, node: number, why: Why): void {
  const state = stateOf(ledger, node);
  const step = stepOf(ledger, node);
  if (isTerminal(state.phase) || state.phase === "Cancelling") return;
  const waits = state.phase === "Pending" || state.phase === "Waiting" || state.phase === "Suspended";
  if (waits || step.kind === "observe") return settleTree(ledger, node, "Canceled", why);
  put(ledger, node, toCancelling(state, ledger.now, why));
  if (step.kind === "group") cancelScope(ledger, int(ledger.layout.nested, node), innerWhy(why));
  if (step.kind === "fan") cancelItems(ledger, node);
}

/** Only what ends the whole run is passed on unchanged. */
const innerWhy = (why: Why): Why =>
  why.reason === reasons.runCanceled || why.reason === reasons.deadline || why.reason === reasons.runFailing
    ? why
    : { reason: reasons.groupCanceled };

export function cancelScope(ledger: Ledger, scope: number, why: Why): void {
  if (scope < 0) return;
  for (const node of nodesOf(ledger, scope)) cancelNode(ledger, node, why);
}

/** Retries after a pause, or ends the step. */
export function failAttempt(ledger: Ledger, node: number, failure: Omit<Failure, "attempt">, retryable: boolean): void {
  const step = stepOf(ledger, node);
  const state = stateOf(ledger, node);
  const { reason, message } = failure;
  if (!retryable || !mayRetry(ledger, node, step, state, failure)) {
    put(ledger, node, toOutcome(state, "Failed", ledger.now, { reason, message }));
    return;
  }
  const told = `attempt ${state.attempt}: ${reason}${message === undefined ? "" : `: ${message}`}`;
  const notBefore = ledger.now + Math.max(0, step.retry.delay(triesOf(state)));
  put(ledger, node, toBackoff(state, ledger.now, notBefore, told));
}

/** Starts another round, unless the limit is reached or nothing may start. */
export function endRound(ledger: Ledger, node: number): void {
  const { repeat } = stepOf(ledger, node);
  const state = stateOf(ledger, node);
  const most = repeat?.maxIterations ?? 1;
  if (isClosing(ledger, node)) {
    return put(ledger, node, toOutcome(state, "Canceled", ledger.now, { reason: reasons.runFailing }));
  }
  if ((state.iteration ?? 1) < most) {
    return put(ledger, node, toNextRound(state, ledger.now, repeat?.interval ?? 0));
  }
  const message = `not done after ${most} iteration${most === 1 ? "" : "s"}`;
  put(ledger, node, toOutcome(state, "Failed", ledger.now, { reason: reasons.iterationsExhausted, message }));
}

/** The condition comes last, because it is expensive. */
function mayRetry(
  ledger: Ledger,
  node: number,
  { retry }: PlanStep,
  state: StepState,
  failure: Omit<Failure, "attempt">,
): boolean {
  if (triesOf(state) > retry.limit || isClosing(ledger, node)) return false;
  return retry.retryable?.({ ...failure, attempt: state.attempt }, gateScope(ledger, node)) ?? true;
}

/** A timeout is a failure of the attempt; a cancel is a cancel. */
export function endCancelled(ledger: Ledger, node: number): void {
  const state = stateOf(ledger, node);
  const { reason = reasons.stepCanceled, message } = state;
  if (stepOf(ledger, node).kind === "fan") return giveUpItems(ledger, node);
  if (reason === reasons.timeout || reason === reasons.pendingTimeout) {
    failAttempt(ledger, node, { cause: "Timeout", reason, ...(message === undefined ? {} : { message }) }, true);
    return;
  }
  const outcome = reason === reasons.stepDeadline ? "Failed" : "Canceled";
  put(ledger, node, toOutcome(state, outcome, ledger.now, { reason, message }));
}

/** Settles finished groups; true if there was one. */
export function endGroups(ledger: Ledger): boolean {
  let ended = false;
  for (let scope = ledger.settled.pop(); scope !== undefined; scope = ledger.settled.pop()) {
    const { group } = item(ledger.layout.scopes, scope);
    if (scope === mainScope || group < 0) continue;
    const { phase } = stateOf(ledger, group);
    if (phase !== "Running" && phase !== "Cancelling") continue;
    endGroup(ledger, group, scope);
    ended = true;
  }
  return ended;
}

/** As good as its steps; a cancelled one is Canceled, or Failed after a timeout, unless all went well. */
function endGroup(ledger: Ledger, group: number, scope: number): void {
  const state = stateOf(ledger, group);
  const bad = firstBadOf(ledger, scope);
  if (bad === undefined) return put(ledger, group, toOutcome(state, "Succeeded", ledger.now));
  if (state.phase === "Cancelling") {
    const failed = state.reason === reasons.timeout || state.reason === reasons.stepDeadline;
    return put(ledger, group, toOutcome(state, failed ? "Failed" : "Canceled", ledger.now, state));
  }
  // Cut short without a failure.
  const { phase, reason } = stateOf(ledger, bad);
  const cut = phase === "Canceled" || (phase === "Skipped" && reason === reasons.runFailing);
  const why = { reason: cut ? (reason ?? reasons.stepCanceled) : reasons.stepFailed, message: blame(ledger, bad) };
  put(ledger, group, toOutcome(state, cut ? "Canceled" : "Failed", ledger.now, why));
}

/** `step "build" failed: exit code 1`. */
export function blame(ledger: Ledger, node: number, others = 0): string {
  const { phase, reason, message } = stateOf(ledger, node);
  const verb = phase === "Failed" ? "failed" : `was ${phase.toLowerCase()}`;
  const why = message ?? reason;
  return `step "${idOf(ledger, node)}" ${verb}${andOthers(others)}${why === undefined ? "" : `: ${why}`}`;
}
