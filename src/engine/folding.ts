import { act, actionOrder } from "./acting.ts";
import { int } from "./arrays.ts";
import { endCancelled, endRound, failAttempt } from "./ending.ts";
import type { ActionFact, ChildFact, Fact, GrantFact } from "./facts.ts";
import { explainWait, failureOf, foldItem, grantItem, isCurrentItem } from "./item-facts.ts";
import { type Ledger, put, stateOf, stepOf } from "./ledger.ts";
import { reasons } from "./reasons.ts";
import { isTerminal, type StepState } from "./run.ts";
import { toOutcome, toRunning, toWaiting } from "./transitions.ts";

/** Folds facts in any order and returns how many were ignored: actions, then grants, then children. */
export function foldFacts(ledger: Ledger, facts: readonly Fact[]): number {
  let ignored = 0;
  for (const fact of sorted(ledger, facts.filter(isAction), actionRank)) {
    if (!act(ledger, fact)) ignored++;
  }
  ignored += foldEach(ledger, facts.filter(isGrant), grantRank, foldGrant);
  ignored += foldEach(ledger, facts.filter(isChild), childRank, foldChild);
  return ignored;
}

const isAction = (fact: Fact): fact is ActionFact => fact.kind === "action";
const isGrant = (fact: Fact): fact is GrantFact => fact.kind === "grant";
const isChild = (fact: Fact): fact is ChildFact => fact.kind === "child";

type Rank<F> = (fact: F) => number;

// Lower ranks first.
const actionRank: Rank<ActionFact> = (fact) => actionOrder.indexOf(fact.action);
const grantRank: Rank<GrantFact> = (fact) => (fact.granted ? 0 : 1);
const childOrder = ["succeeded", "failed", "gone", "alive"];
const childRank: Rank<ChildFact> = (fact) => childOrder.indexOf(fact.state.is);

/** Total order: step, rank, text of the fact. */
function sorted<F extends Fact>(ledger: Ledger, facts: readonly F[], rank: Rank<F>): readonly F[] {
  if (facts.length < 2) return facts;
  const place = (fact: F) => (fact.step === undefined ? -1 : (ledger.layout.nodeById.get(fact.step) ?? -1));
  const positions = facts.map((fact) => ({ fact, node: place(fact), rank: rank(fact) }));
  const { position } = ledger.layout;
  positions.sort((a, b) =>
    isAction(a.fact)
      ? a.rank - b.rank || int(position, a.node) - int(position, b.node) || compareTexts(a.fact, b.fact)
      : int(position, a.node) - int(position, b.node) ||
        itemOf(a.fact) - itemOf(b.fact) ||
        a.rank - b.rank ||
        compareTexts(a.fact, b.fact),
  );
  return positions.map(({ fact }) => fact);
}

/** -1: the step itself. */
const itemOf = (fact: Fact): number => (isAction(fact) ? -1 : (fact.item?.index ?? -1));

function compareTexts(a: Fact, b: Fact): number {
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Passes the strongest current fact per step to `fold`, which says whether it was used. */
function foldEach<F extends GrantFact | ChildFact>(
  ledger: Ledger,
  facts: readonly F[],
  rank: Rank<F>,
  fold: (ledger: Ledger, node: number, fact: F) => boolean,
): number {
  let ignored = 0;
  let last = { node: -1, item: -1 };
  for (const fact of sorted(ledger, facts, rank)) {
    const node = ledger.layout.nodeById.get(fact.step);
    const item = itemOf(fact);
    if (node === undefined || !isCurrent(ledger, node, fact)) ignored++;
    else if (node !== last.node || item !== last.item) {
      last = { node, item };
      if (!fold(ledger, node, fact)) ignored++;
    }
  }
  return ignored;
}

const isCurrent = (ledger: Ledger, node: number, fact: GrantFact | ChildFact): boolean => {
  if (fact.attempt === undefined) return fact.kind === "grant" && fact.item === undefined;
  return fact.attempt === stateOf(ledger, node).attempt && isCurrentItem(ledger, node, fact.item);
};

/** Permission to start, or a refusal, which takes back the start of the given attempt. */
function foldGrant(ledger: Ledger, node: number, fact: GrantFact): boolean {
  const state = stateOf(ledger, node);
  if (fact.item !== undefined) return grantItem(ledger, node, fact, fact.item);
  if (fact.granted) return grant(ledger, node, state);
  if (state.phase === "Waiting") return block(ledger, node, state, fact);
  if (ledger.fans.has(node)) return explainWait(ledger, node, fact);
  if (state.phase !== "Starting" || fact.attempt === undefined) return false;
  const { notBefore, message } = fact;
  put(ledger, node, toWaiting(state, fact.reason ?? "Quota", ledger.now, { notBefore, message, refused: true }));
  // A failing run skips it again.
  ledger.drained.fill(0);
  return true;
}

/** Backoffs and timers need no grant. */
function grant(ledger: Ledger, node: number, state: StepState): boolean {
  if (state.phase !== "Waiting" || state.reason === "Backoff" || state.reason === "Timer") return false;
  if (state.reason !== "Ready") put(ledger, node, toWaiting(state, "Ready", ledger.now));
  return true;
}

/** An equal reason changes nothing, so polling writes nothing. */
function block(ledger: Ledger, node: number, state: StepState, fact: GrantFact): boolean {
  if (state.reason === "Backoff" || state.reason === "Timer") return false;
  const { reason = "Quota", notBefore, message } = fact;
  if (state.reason === reason && state.notBefore === notBefore && state.message === message) return true;
  put(ledger, node, toWaiting(state, reason, ledger.now, { notBefore, message }));
  return true;
}

/** Only work and references have children. */
function foldChild(ledger: Ledger, node: number, { state: child, item }: ChildFact): boolean {
  const state = stateOf(ledger, node);
  if (item !== undefined) return foldItem(ledger, node, item, child);
  const { kind } = stepOf(ledger, node);
  if (kind !== "work" && kind !== "observe") return false;
  const refused = state.phase === "Waiting" && state.refused === true;
  if (state.phase === "Starting" || state.phase === "Running" || refused) return foldLive(ledger, node, state, child);
  if (state.phase === "Cancelling") return foldCancelled(ledger, node, state, child);
  // Expected for an unchanged child.
  return isTerminal(state.phase);
}

function foldLive(ledger: Ledger, node: number, state: StepState, child: ChildFact["state"]): boolean {
  switch (child.is) {
    case "alive":
      // Refused work cannot run; a missing reference may appear.
      if (state.phase === "Waiting" && stepOf(ledger, node).kind === "work") return false;
      if (state.phase !== "Running") put(ledger, node, toRunning(state));
      return true;
    case "succeeded":
      if (child.again === true) endRound(ledger, node);
      else put(ledger, node, toOutcome(state, "Succeeded", ledger.now, child));
      return true;
    case "failed":
      failAttempt(ledger, node, failureOf(child), child.retryable);
      return true;
    case "gone":
      // Not created yet.
      if (state.phase !== "Running") return false;
      failAttempt(ledger, node, { cause: "Lost", reason: reasons.childDeleted }, true);
      return true;
  }
}

/** A success before the cancel counts. */
function foldCancelled(ledger: Ledger, node: number, state: StepState, child: ChildFact["state"]): boolean {
  if (child.is === "succeeded" && child.again !== true) {
    put(ledger, node, toOutcome(state, "Succeeded", ledger.now, child));
  } else if (child.is !== "alive") endCancelled(ledger, node);
  return true;
}
