import { amend } from "./amend.ts";
import { endApproval } from "./approvals.ts";
import { int } from "./arrays.ts";
import { type DeadlineScope, dueAt, finalDeadline, isPaused, runDeadline, stepDeadlines } from "./deadlines.ts";
import { cancelNode, cancelScope, endCancelled, failAttempt, settleTree } from "./ending.ts";
import { applyItemTimes, itemsDueAt } from "./fan.ts";
import { nodesOf } from "./gate-scope.ts";
import { finalScope, mainScope } from "./layout.ts";
import { idOf, isFinalSettled, isMainSettled, type Ledger, put, stateOf, stepOf } from "./ledger.ts";
import { andOthers, reasons, seconds } from "./reasons.ts";
import { isTerminal, type StepState } from "./run.ts";
import { toCancelling, toOutcome, toWaiting } from "./transitions.ts";
import type { Instant } from "./values.ts";

/** Applies deadlines and ends of waits: the run first, then steps in topological order. */
export function applyTime(ledger: Ledger): void {
  strikeRun(ledger);
  timeItems(ledger);
  const due: number[] = [];
  for (const [node, at] of ledger.due) if (ledger.now >= at) due.push(node);
  const { position } = ledger.layout;
  for (const node of due.sort((a, b) => int(position, a) - int(position, b))) applyTimeTo(ledger, node);
}

/** Final steps have a deadline of their own, which starts with them. */
function strikeRun(ledger: Ledger): void {
  const why = { reason: reasons.deadline };
  const { plan } = ledger.layout;
  const runAt = isMainSettled(ledger) ? undefined : runDeadline(plan, ledger.run);
  if (runAt !== undefined && ledger.now >= runAt) {
    ledger.run = amend(ledger.run, { closing: "Deadline", message: unfinished(ledger) });
    cancelScope(ledger, mainScope, why);
  }
  const final = finalScope(ledger.layout);
  const finalAt = isFinalSettled(ledger) ? undefined : finalDeadline(plan, ledger.run);
  if (final === undefined || ledger.run.final === undefined || finalAt === undefined || ledger.now < finalAt) return;
  ledger.run = amend(ledger.run, { final: amend(ledger.run.final, { closing: "Deadline" }) });
  cancelScope(ledger, final.index, why);
}

const namesTold = 3;

/** `not finished within 60s: build, test (and 2 others)`. Kept, because the deadline may change. */
function unfinished(ledger: Ledger): string {
  const begun = nodesOf(ledger, mainScope).filter((node) => {
    const { phase } = stateOf(ledger, node);
    return phase !== "Pending" && !isTerminal(phase);
  });
  const names = begun.slice(0, namesTold).map((node) => idOf(ledger, node));
  const limit = `not finished within ${seconds(ledger.layout.plan.policy.deadline ?? 0)}`;
  return names.length === 0 ? limit : `${limit}: ${names.join(", ")}${andOthers(begun.length - names.length)}`;
}

/** One event may cause another: a backoff beyond the step's deadline. */
function applyTimeTo(ledger: Ledger, node: number): void {
  for (let before: StepState | undefined; before !== stateOf(ledger, node); ) {
    before = stateOf(ledger, node);
    const struck = struckScope(ledger, node);
    if (struck !== undefined) strikeStep(ledger, node, struck);
    else if (ledger.fans.has(node)) applyItemTimes(ledger, node);
    else endWait(ledger, node);
  }
}

function timeItems(ledger: Ledger): void {
  for (const node of ledger.untimed) {
    if (!ledger.fans.has(node)) continue;
    const own = dueAt(stepOf(ledger, node), stateOf(ledger, node), isPaused(ledger.run));
    const at = Math.min(own, itemsDueAt(ledger, node));
    if (at === Number.POSITIVE_INFINITY) ledger.due.delete(node);
    else ledger.due.set(node, at);
  }
  ledger.untimed.clear();
}

/** Outermost first. None if its group was just cancelled. */
function struckScope(ledger: Ledger, node: number): DeadlineScope | undefined {
  let struck: DeadlineScope | undefined;
  stepDeadlines(stepOf(ledger, node), stateOf(ledger, node), isPaused(ledger.run), (at, scope) => {
    if (ledger.now >= at) struck ??= scope;
  });
  return struck;
}

function endWait(ledger: Ledger, node: number): void {
  const state = stateOf(ledger, node);
  if (state.phase !== "Waiting" || state.notBefore === undefined || ledger.now < state.notBefore) return;
  if (stepOf(ledger, node).kind === "timer") put(ledger, node, toOutcome(state, "Succeeded", ledger.now));
  else put(ledger, node, toWaiting(state, "Ready", ledger.now, { message: state.message }));
}

function strikeStep(ledger: Ledger, node: number, scope: DeadlineScope): void {
  const step = stepOf(ledger, node);
  switch (scope) {
    case "step":
      return strikeWholeStep(ledger, node);
    case "attempt":
      return endAttempt(ledger, node, reasons.timeout, `no result within ${seconds(step.timeout ?? 0)}`);
    case "pending":
      return endAttempt(
        ledger,
        node,
        reasons.pendingTimeout,
        `not running within ${seconds(step.pendingTimeout ?? 0)}`,
      );
    case "approval":
      return endApproval(ledger, node);
    case "cancel":
      return endCancelled(ledger, node);
    case "run":
    case "final":
  }
}

/** A child is cancelled first; a reference has none. */
function strikeWholeStep(ledger: Ledger, node: number): void {
  const step = stepOf(ledger, node);
  const { phase } = stateOf(ledger, node);
  const why = { reason: reasons.stepDeadline, message: `not finished within ${seconds(step.deadline ?? 0)}` };
  const hasParts = phase === "Starting" || phase === "Running";
  if (hasParts && step.kind !== "observe") cancelNode(ledger, node, why);
  else settleTree(ledger, node, "Failed", why);
}

/** Cancels the child; a retry is decided when it is gone, so attempts never overlap. */
function endAttempt(ledger: Ledger, node: number, reason: string, message: string): void {
  const step = stepOf(ledger, node);
  if (step.kind === "observe") return failAttempt(ledger, node, { cause: "Timeout", reason, message }, true);
  if (step.kind === "group") return cancelNode(ledger, node, { reason, message });
  put(ledger, node, toCancelling(stateOf(ledger, node), ledger.now, { reason, message }));
}

/** When time alone changes the run; undefined if never. Calling `advance` then, and with facts, suffices. */
export function wakeAt(ledger: Ledger): Instant | undefined {
  const { plan } = ledger.layout;
  timeItems(ledger);
  let earliest = Number.POSITIVE_INFINITY;
  for (const at of ledger.due.values()) if (at > ledger.now && at < earliest) earliest = at;
  const runAt = isMainSettled(ledger) ? undefined : runDeadline(plan, ledger.run);
  if (runAt !== undefined) earliest = Math.min(earliest, runAt);
  const finalAt = isFinalSettled(ledger) ? undefined : finalDeadline(plan, ledger.run);
  if (finalAt !== undefined) earliest = Math.min(earliest, finalAt);
  return earliest === Number.POSITIVE_INFINITY ? undefined : earliest;
}
