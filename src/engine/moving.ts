import { amend } from "./amend.ts";
import { askPeople } from "./approvals.ts";
import { int, item } from "./arrays.ts";
import { isPaused } from "./deadlines.ts";
import { isDraining } from "./closing.ts";
import { cancelNode, endGroups, settleAll, settleTree } from "./ending.ts";
import { takeReady } from "./frontier.ts";
import { askGate, describeBad, gateScope, nodesOf } from "./gate-scope.ts";
import { cancelIdleItems, startFan, startItem, wantsSlot } from "./fan.ts";
import { popLeast, pushLeast } from "./heap.ts";
import { finalScope, mainScope, type Scope } from "./layout.ts";
import { isMainSettled, type Ledger, put, putBarrier, scopeOf, stateOf, stepOf } from "./ledger.ts";
import { reasons } from "./reasons.ts";
import { isTerminal } from "./run.ts";
import { toOutcome, toRunning, toStarting, toWaiting } from "./transitions.ts";

/** Moves everything that needs no new facts. Each move enables others only further down the graph, so the loop ends. */
export function moveAll(ledger: Ledger): void {
  askAgain(ledger);
  for (;;) {
    askGates(ledger);
    if (endGroups(ledger) || carryOutStrategies(ledger) || openFinal(ledger)) continue;
    if (!startAll(ledger)) return;
  }
}

/** Once per call: what waiting gates depend on changes between calls. */
function askAgain(ledger: Ledger): void {
  const nodes = ledger.undecided;
  ledger.undecided = [];
  for (const node of nodes) if (stateOf(ledger, node).phase === "Pending") passGate(ledger, node);
}

/** Frontiers of unopened scopes keep what is ready. */
function askGates(ledger: Ledger): void {
  for (let scope = ledger.stirred.pop(); scope !== undefined; scope = ledger.stirred.pop()) {
    if (ledger.open[scope] === 1) askGatesOf(ledger, item(ledger.layout.scopes, scope));
  }
}

function askGatesOf(ledger: Ledger, { index, plan, base }: Scope): void {
  const frontier = item(ledger.frontiers, index);
  for (let local = takeReady(frontier, plan.graph); local !== undefined; local = takeReady(frontier, plan.graph)) {
    const node = base + local;
    if (stepOf(ledger, node).kind === "barrier") putBarrier(ledger, node);
    else if (stateOf(ledger, node).phase === "Pending") passGate(ledger, node);
  }
}

/** Each gate decides once. */
function passGate(ledger: Ledger, node: number): void {
  const answer = askGate(ledger, node);
  if ("wait" in answer) {
    ledger.undecided.push(node);
    return;
  }
  if ("error" in answer) {
    return settleTree(ledger, node, "Failed", { reason: reasons.expressionError, message: answer.error });
  }
  if ("skip" in answer) {
    const message = answer.message ?? (answer.skip === "DependencyFailed" ? describeBad(ledger, node) : undefined);
    return settleTree(ledger, node, "Skipped", { reason: answer.skip, message });
  }
  const step = stepOf(ledger, node);
  if (step.kind === "timer") return setTimer(ledger, node);
  put(ledger, node, toWaiting(stateOf(ledger, node), step.admission ?? "Ready", ledger.now));
}

/** A timer starts when it waits; without a time it is over. */
function setTimer(ledger: Ledger, node: number): void {
  const due = stepOf(ledger, node).due?.(gateScope(ledger, node)) ?? { after: 0 };
  if ("error" in due) {
    return settleTree(ledger, node, "Failed", { reason: reasons.expressionError, message: due.error });
  }
  const notBefore = "at" in due ? due.at : ledger.now + Math.max(0, due.after);
  const waiting = toWaiting(stateOf(ledger, node), "Timer", ledger.now, { notBefore });
  put(ledger, node, amend(waiting, { startedAt: ledger.now }));
  if (ledger.now >= notBefore) put(ledger, node, toOutcome(stateOf(ledger, node), "Succeeded", ledger.now));
}

/** Once per scope; true if something changed. */
function carryOutStrategies(ledger: Ledger): boolean {
  let found = false;
  for (const { index } of ledger.layout.scopes) {
    if (ledger.drained[index] === 1 || ledger.open[index] === 0 || !isDraining(ledger, index)) continue;
    ledger.drained[index] = 1;
    drain(ledger, index, item(ledger.layout.scopes, index).plan.policy.strategy === "Cancel");
    found = true;
  }
  return found;
}

/** Skips what has not begun, except steps whose gate handles failures. `cancelActive` also cancels active steps. */
function drain(ledger: Ledger, scope: number, cancelActive: boolean): void {
  const why = { reason: reasons.runFailing };
  for (const node of nodesOf(ledger, scope)) {
    const { phase } = stateOf(ledger, node);
    const step = stepOf(ledger, node);
    if (isTerminal(phase) || step.afterFailure === true) continue;
    if (phase === "Pending" || phase === "Waiting") settleTree(ledger, node, "Skipped", why);
    else if (cancelActive) cancelNode(ledger, node, why);
    else if (step.kind === "group") drain(ledger, int(ledger.layout.nested, node), false);
    else if (step.kind === "fan" && phase === "Running") cancelIdleItems(ledger, node);
  }
}

/** After the main plan, unless suspended; true if it opened. */
function openFinal(ledger: Ledger): boolean {
  const final = finalScope(ledger.layout);
  if (final === undefined || ledger.run.final !== undefined || !isMainSettled(ledger)) return false;
  if (isPaused(ledger.run) || ledger.remaining[final.index] === 0) return false;
  if (ledger.run.forced === true) {
    settleAll(ledger, final.index, "Canceled", { reason: reasons.runCanceled });
    return true;
  }
  ledger.run = amend(ledger.run, { final: { startedAt: ledger.now } });
  ledger.open[final.index] = 1;
  ledger.stirred.push(final.index);
  return true;
}

/** True if more steps may be ready. */
function startAll(ledger: Ledger): boolean {
  if (isPaused(ledger.run)) return false;
  for (let node = ledger.free.pop(); node !== undefined; node = ledger.free.pop()) {
    if (isReady(ledger, node)) startFree(ledger, node);
  }
  startWork(ledger);
  return ledger.stirred.length > 0 || ledger.settled.length > 0;
}

/** Entries may be outdated or repeated. */
const isReady = (ledger: Ledger, node: number): boolean => {
  const { phase, reason } = stateOf(ledger, node);
  return phase === "Waiting" && reason === "Ready";
};

const isStartable = (ledger: Ledger, node: number): boolean =>
  isReady(ledger, node) || (ledger.fans.has(node) && wantsSlot(ledger, node));

function startFree(ledger: Ledger, node: number): void {
  const state = stateOf(ledger, node);
  const { kind } = stepOf(ledger, node);
  if (kind === "approval") askPeople(ledger, node);
  else if (kind === "group") startGroup(ledger, node);
  else if (kind === "fan") startFan(ledger, node);
  else put(ledger, node, toStarting(state, ledger.now));
}

/** It runs at once and opens its scope; an empty one is over. */
function startGroup(ledger: Ledger, node: number): void {
  put(ledger, node, toRunning(toStarting(stateOf(ledger, node), ledger.now)));
  const scope = int(ledger.layout.nested, node);
  if (scope < 0) return put(ledger, node, toOutcome(stateOf(ledger, node), "Succeeded", ledger.now));
  ledger.open[scope] = 1;
  ledger.stirred.push(scope);
  if (ledger.remaining[scope] === 0) ledger.settled.push(scope);
}

/** Starts work by rank. Steps of a nested scope without a slot are put back into their place. */
function startWork(ledger: Ledger): void {
  const held: number[] = [];
  const { startable, layout } = ledger;
  while (startable.length > 0) {
    const rank = item(startable, 0);
    const node = int(layout.startOrder, rank);
    // Nothing else can start either.
    if (isStartable(ledger, node) && !hasSlot(ledger, topOf(ledger, node))) break;
    popLeast(startable);
    if (isStartable(ledger, node) && !hasSlots(ledger, node)) held.push(rank);
    else takeSlot(ledger, node);
  }
  for (const rank of held) pushLeast(startable, rank);
}

/** A step, or the next item of a fan-out, which queues again. */
function takeSlot(ledger: Ledger, node: number): void {
  const books = ledger.fans.get(node);
  if (books !== undefined) books.isQueued = false;
  if (!isStartable(ledger, node)) return;
  if (books === undefined) put(ledger, node, toStarting(stateOf(ledger, node), ledger.now));
  else startItem(ledger, node);
}

/** The outermost scope, whose slots are shared. */
const topOf = (ledger: Ledger, node: number): number =>
  scopeOf(ledger, node).isFinal ? (finalScope(ledger.layout)?.index ?? mainScope) : mainScope;

const hasSlot = (ledger: Ledger, scope: number): boolean =>
  int(ledger.active, scope) < (item(ledger.layout.scopes, scope).plan.policy.parallelism ?? Number.POSITIVE_INFINITY);

/** In all scopes around the node. */
function hasSlots(ledger: Ledger, node: number): boolean {
  for (let scope = scopeOf(ledger, node); ; scope = item(ledger.layout.scopes, scope.parent)) {
    if (!hasSlot(ledger, scope.index)) return false;
    if (scope.parent < 0) return true;
  }
}
