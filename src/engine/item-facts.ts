import { amend } from "./amend.ts";
import type { ChildState, GrantFact, ItemTry } from "./facts.ts";
import { endCancelledItem, endIfThrough, failItem, moveItem, refuseItem } from "./fan.ts";
import { attemptOf, noteOutputs, phaseOf } from "./fan-books.ts";
import { isItemSettled, itemPhase } from "./items.ts";
import { booksOf, type Ledger, put, stateOf } from "./ledger.ts";
import { reasons } from "./reasons.ts";

// Facts about single items, folded as those about steps are: same arrows, same answers.

/** True for facts about no item, and about the attempt the item is at. After the end of its step nobody asks for items any more. */
export function isCurrentItem({ fans }: Ledger, node: number, item: ItemTry | undefined): boolean {
  const books = fans.get(node);
  return item === undefined || (books !== undefined && attemptOf(books, item.index) === item.attempt);
}

/** What was seen of the child of one item; false when its phase has no use for it. */
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
    case "failed": {
      const { reason, message, retryable } = child;
      failItem(
        ledger,
        node,
        index,
        { cause: "Error", reason, ...(message === undefined ? {} : { message }) },
        retryable,
      );
      return true;
    }
    case "gone":
      // Before it was seen, a child that is missing has simply not been created yet.
      if (phase !== itemPhase.running) return false;
      failItem(ledger, node, index, { cause: "Lost", reason: reasons.childDeleted }, true);
      return true;
  }
}

/** Work that was done before the cancel reached it is done; every other end is that of the cancel. */
function foldCancelled(ledger: Ledger, node: number, index: number, child: ChildState): boolean {
  if (child.is === "succeeded") succeed(ledger, node, index, child);
  else if (child.is !== "alive") endCancelledItem(ledger, node, index);
  return true;
}

function succeed(
  ledger: Ledger,
  node: number,
  index: number,
  { outputs }: Extract<ChildState, { is: "succeeded" }>,
): void {
  if (outputs !== undefined) noteOutputs(booksOf(ledger, node), index, outputs);
  moveItem(ledger, node, index, itemPhase.succeeded);
}

/** The world did not let an item start. What it said is shown with the step, until something is started again. */
export function refuseStart(
  ledger: Ledger,
  node: number,
  { granted, notBefore, message }: GrantFact,
  { index }: ItemTry,
): boolean {
  if (granted || phaseOf(booksOf(ledger, node), index) !== itemPhase.starting) return false;
  refuseItem(ledger, node, index, notBefore);
  const state = stateOf(ledger, node);
  if (state.phase === "Running" && state.message !== message) put(ledger, node, amend(state, { message }));
  return true;
}
