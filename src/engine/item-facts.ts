import { amend } from "./amend.ts";
import type { ChildState, GrantFact } from "./facts.ts";
import { endCancelledItem, endIfThrough, failItem, moveItem, refuseItem, wantsSlot } from "./fan.ts";
import { attemptOf, letIn, noteArtifacts, noteOutputs, phaseOf } from "./fan-books.ts";
import { isItemSettled, itemPhase, type ItemTry } from "./items.ts";
import { booksOf, type Ledger, put, queueFan, stateOf } from "./ledger.ts";
import type { Failure } from "./plan.ts";
import { reasons } from "./reasons.ts";
import type { Explained } from "./run.ts";

// Facts about items, folded like those about steps.

/** Also for facts about no item. False after the step's end. */
export function isCurrentItem({ fans }: Ledger, node: number, item: ItemTry | undefined): boolean {
  const books = fans.get(node);
  return item === undefined || (books !== undefined && attemptOf(books, item.index) === item.attempt);
}

/** False if its phase has no use for it. */
export function foldItem(ledger: Ledger, node: number, { index }: ItemTry, child: ChildState): boolean {
  const phase = phaseOf(booksOf(ledger, node), index);
  if (isItemSettled(phase)) return true;
  const isUsed =
    phase === itemPhase.cancelling
      ? foldCancelled(ledger, node, index, child)
      : (phase === itemPhase.running || phase === itemPhase.starting) && foldLive(ledger, node, index, phase, child);
  endIfThrough(ledger, node);
  return isUsed;
}

function foldLive(ledger: Ledger, node: number, index: number, phase: number, child: ChildState): boolean {
  switch (child.is) {
    case "alive":
      if (phase !== itemPhase.running) moveItem(ledger, node, index, itemPhase.running);
      return true;
    case "succeeded":
      succeed(ledger, node, index, child);
      return true;
    case "failed":
      failItem(ledger, node, index, failureOf(child), child.retryable);
      return true;
    case "gone":
      // Not created yet.
      if (phase !== itemPhase.running) return false;
      failItem(ledger, node, index, { cause: "Lost", reason: reasons.childDeleted }, true);
      return true;
  }
}

export const failureOf = ({ reason, message, lost }: Extract<ChildState, { is: "failed" }>) => {
  const cause: Failure["cause"] = lost === true ? "Lost" : "Error";
  return message === undefined ? { cause, reason } : { cause, reason, message };
};

/** A success before the cancel counts. */
function foldCancelled(ledger: Ledger, node: number, index: number, child: ChildState): boolean {
  if (child.is === "succeeded") succeed(ledger, node, index, child);
  else if (child.is !== "alive") endCancelledItem(ledger, node, index);
  return true;
}

function succeed(
  ledger: Ledger,
  node: number,
  index: number,
  { outputs, artifacts }: Extract<ChildState, { is: "succeeded" }>,
): void {
  if (artifacts !== undefined) noteArtifacts(booksOf(ledger, node), index, artifacts);
  if (outputs !== undefined) noteOutputs(booksOf(ledger, node), index, outputs);
  moveItem(ledger, node, index, itemPhase.succeeded);
}

/** Grants or refuses an item's start. The reason is shown on the step until an item starts. */
export function grantItem(
  ledger: Ledger,
  node: number,
  { granted, notBefore, message }: GrantFact,
  { index }: ItemTry,
): boolean {
  const books = booksOf(ledger, node);
  if (granted) {
    if (!letIn(books, index)) return false;
    explainWait(ledger, node, {});
    if (wantsSlot(ledger, node)) queueFan(ledger, node);
    return true;
  }
  if (phaseOf(books, index) !== itemPhase.starting) return false;
  refuseItem(ledger, node, index, notBefore);
  // A failing run skips it again.
  ledger.drained.fill(0);
  const state = stateOf(ledger, node);
  if (state.phase === "Running" && state.message !== message) put(ledger, node, amend(state, { message }));
  return true;
}

/** An equal reason changes nothing. */
export function explainWait(ledger: Ledger, node: number, { reason, message }: Explained): boolean {
  const state = stateOf(ledger, node);
  if (state.phase !== "Running" || booksOf(ledger, node).fan.admission === undefined) return false;
  if (state.reason !== reason || state.message !== message) put(ledger, node, amend(state, { reason, message }));
  return true;
}
