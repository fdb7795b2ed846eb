import { amend } from "./amend.ts";
import { isClosing } from "./closing.ts";
import {
  attemptOf,
  canStartItem,
  completeOutputs,
  type FanBooks,
  itemTries,
  noteFailure,
  openBooks,
  phaseOf,
  putItem,
  sealBooks,
} from "./fan-books.ts";
import { gateScope } from "./gate-scope.ts";
import { popLeast } from "./heap.ts";
import { isItemSettled, itemPhase, type ItemsState, newItems, renewItems } from "./items.ts";
import { booksOf, type Ledger, noteChange, put, queueFan, stateOf, stepOf, tallyActive } from "./ledger.ts";
import type { Failure, Fan } from "./plan.ts";
import { reasons, seconds } from "./reasons.ts";
import { isTerminal, type Outcome, type StepState } from "./run.ts";
import { toOutcome, toRunning, toStarting, type Why } from "./transitions.ts";
import type { Instant } from "./values.ts";

// Changes of items go through `moveItem`, which keeps the books of step and run consistent.

/** Runs at once; over without items. A retry keeps its items. */
export function startFan(ledger: Ledger, node: number): void {
  const step = stepOf(ledger, node);
  const answer: ReturnType<Fan["count"]> = step.fan?.count(gateScope(ledger, node)) ?? { count: 0 };
  const state = stateOf(ledger, node);
  if ("error" in answer) {
    const { reason = reasons.expressionError, error: message } = answer;
    return put(ledger, node, toOutcome(state, "Failed", ledger.now, { reason, message }));
  }
  const items = itemsFor(state, answer.count);
  const running = amend(toRunning(toStarting(state, ledger.now)), { items });
  ledger.fans.set(node, openBooks(step, running));
  put(ledger, node, running);
  for (const index of answer.skipped ?? []) {
    if (phaseOf(booksOf(ledger, node), index) === itemPhase.pending) moveItem(ledger, node, index, itemPhase.skipped);
  }
  if (booksOf(ledger, node).unsettled === 0) endIfThrough(ledger, node);
  else queueFan(ledger, node);
}

/** The earlier ones if their number is the same, else new ones with unused attempts. */
function itemsFor({ items }: StepState, count: number): ItemsState {
  if (items === undefined) return newItems(count);
  return items.total === count ? items : renewItems(items, count);
}

export function startItem(ledger: Ledger, node: number): void {
  const books = booksOf(ledger, node);
  const index = popReady(books);
  if (index === undefined) return;
  books.attempts[index] = attemptOf(books, index) + 1;
  if (stepOf(ledger, node).timeout !== undefined) books.since.set(index, ledger.now);
  moveItem(ledger, node, index, itemPhase.starting);
}

/** Entries may be outdated. */
function popReady(books: FanBooks): number | undefined {
  for (let index = popLeast(books.ready); index !== undefined; index = popLeast(books.ready)) {
    const phase = phaseOf(books, index);
    if (phase === itemPhase.pending || (phase === itemPhase.waiting && !books.waits.has(index))) return index;
  }
  return undefined;
}

/** Apart from the run's slots. */
export const wantsSlot = (ledger: Ledger, node: number): boolean =>
  stateOf(ledger, node).phase === "Running" && canStartItem(booksOf(ledger, node));

export function moveItem(ledger: Ledger, node: number, index: number, phase: number, notBefore?: Instant): void {
  const books = booksOf(ledger, node);
  const { active } = books;
  putItem(books, index, phase, notBefore);
  noteChange(ledger, node);
  ledger.untimed.add(node);
  if (books.active !== active) tallyActive(ledger, node, books.active > active ? 1 : -1);
  if (books.owing.size === 0) ledger.owing.delete(node);
  else ledger.owing.add(node);
  if (wantsSlot(ledger, node)) queueFan(ledger, node);
}

export function failItem(
  ledger: Ledger,
  node: number,
  index: number,
  failure: Omit<Failure, "attempt">,
  retryable: boolean,
): void {
  const books = booksOf(ledger, node);
  const attempt = attemptOf(books, index);
  if (retryable && mayRetry(ledger, node, index, { ...failure, attempt })) {
    const pause = Math.max(0, stepOf(ledger, node).retry.delay(itemTries(books, index)));
    moveItem(ledger, node, index, itemPhase.waiting, pause === 0 ? undefined : ledger.now + pause);
    return;
  }
  const { reason, message } = failure;
  noteFailure(books, { index, attempt, reason, ...(message === undefined ? {} : { message }) });
  moveItem(ledger, node, index, itemPhase.failed);
  if (books.fan.failFast) cancelItems(ledger, node);
}

function mayRetry(ledger: Ledger, node: number, index: number, failure: Failure): boolean {
  const { retry } = stepOf(ledger, node);
  const books = booksOf(ledger, node);
  if (itemTries(books, index) > retry.limit || isEnding(ledger, node) || isClosing(ledger, node)) return false;
  return retry.retryable?.(failure, gateScope(ledger, node)) ?? true;
}

/** The step is cancelled or failing fast. */
const isEnding = (ledger: Ledger, node: number): boolean => {
  const { fan, failed } = booksOf(ledger, node);
  return stateOf(ledger, node).phase === "Cancelling" || (fan.failFast && failed > 0);
};

/** A timeout is a failure; anything else a cancel. */
export function endCancelledItem(ledger: Ledger, node: number, index: number): void {
  if (isEnding(ledger, node)) return moveItem(ledger, node, index, itemPhase.canceled);
  const message = `no result within ${seconds(stepOf(ledger, node).timeout ?? 0)}`;
  failItem(ledger, node, index, { cause: "Timeout", reason: reasons.timeout, message }, true);
}

/** Costs no attempt. */
export function refuseItem(ledger: Ledger, node: number, index: number, notBefore?: Instant): void {
  const books = booksOf(ledger, node);
  books.attempts[index] = Math.max(0, attemptOf(books, index) - 1);
  moveItem(ledger, node, index, itemPhase.waiting, notBefore);
}

export const cancelItems = (ledger: Ledger, node: number): void => endItems(ledger, node, itemPhase.cancelling);

/** Active items go on. Only an item's own condition skips it without harm. */
export const cancelIdleItems = (ledger: Ledger, node: number): void => endItems(ledger, node);

/** Gives active items a phase, if any. O(items). */
function endItems(ledger: Ledger, node: number, active?: number): void {
  for (const [index, phase] of booksOf(ledger, node).phases.entries()) {
    if (phase === itemPhase.pending || phase === itemPhase.waiting) moveItem(ledger, node, index, itemPhase.canceled);
    else if (active !== undefined && !isItemSettled(phase) && phase !== active) moveItem(ledger, node, index, active);
  }
  endIfThrough(ledger, node);
}

export function giveUpItems(ledger: Ledger, node: number): void {
  for (const [index, phase] of booksOf(ledger, node).phases.entries()) {
    if (phase === itemPhase.cancelling) endCancelledItem(ledger, node, index);
  }
  endIfThrough(ledger, node);
}

export function applyItemTimes(ledger: Ledger, node: number): void {
  const books = booksOf(ledger, node);
  for (const [index, at] of books.waits) {
    if (ledger.now >= at) moveItem(ledger, node, index, itemPhase.waiting);
  }
  const { timeout } = stepOf(ledger, node);
  if (timeout === undefined) return;
  for (const [index, since] of books.since) {
    if (ledger.now >= since + timeout) moveItem(ledger, node, index, itemPhase.cancelling);
  }
}

/** Infinity if never. O(waiting and running items). */
export function itemsDueAt(ledger: Ledger, node: number): Instant {
  const { waits, since } = booksOf(ledger, node);
  let earliest = Number.POSITIVE_INFINITY;
  for (const at of waits.values()) if (at < earliest) earliest = at;
  const { timeout } = stepOf(ledger, node);
  if (timeout !== undefined) for (const at of since.values()) if (at + timeout < earliest) earliest = at + timeout;
  return earliest;
}

export function endIfThrough(ledger: Ledger, node: number): void {
  const books = ledger.fans.get(node);
  const state = stateOf(ledger, node);
  if (books === undefined || books.unsettled > 0 || isTerminal(state.phase)) return;
  completeOutputs(books);
  const { outcome, ...why } = endOf(books, state);
  // Sealed now, because gates of this call read the outputs.
  put(ledger, node, toOutcome(sealBooks(books, state), outcome, ledger.now, why));
}

/** As good as its items; Canceled if cut short without a failure. */
function endOf(books: FanBooks, { phase, reason, message }: StepState): Why & { readonly outcome: Outcome } {
  if (books.phases.every((item) => item === itemPhase.succeeded || item === itemPhase.skipped))
    return { outcome: "Succeeded" };
  if (phase === "Cancelling") {
    const outcome = reason === reasons.stepDeadline ? "Failed" : "Canceled";
    return { outcome, reason: reason ?? reasons.stepCanceled, message };
  }
  if (books.failed === 0) return { outcome: "Canceled", reason: reasons.runFailing };
  return { outcome: "Failed", reason: reasons.itemsFailed, message: blameItems(books) };
}

/** `3 of 100 items failed, first item 17: Error: exit code 1`. */
function blameItems({ failed, phases, failures: [first] }: FanBooks): string {
  const count = `${failed} of ${phases.length} items failed`;
  if (first === undefined) return count;
  return `${count}, first item ${first.index}: ${first.reason}${first.message === undefined ? "" : `: ${first.message}`}`;
}
