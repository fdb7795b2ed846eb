import { item } from "./arrays.ts";
import { defaultGate } from "./gates.ts";
import { mainScope } from "./layout.ts";
import { idOf, type Ledger, predecessorsOf, scopeOf, stateOf, stepOf } from "./ledger.ts";
import type { Dependency, GateResult, GateScope, MainOutcome } from "./plan.ts";
import { isTerminal, pendingStep } from "./run.ts";
import { isOk } from "./transitions.ts";

/** Fast path for the default gate. */
export function askGate(ledger: Ledger, node: number): GateResult {
  const { gate } = stepOf(ledger, node);
  if (gate !== defaultGate) return gate(gateScope(ledger, node));
  const bad = firstBad(ledger, node);
  return bad === undefined ? { run: true } : { skip: "DependencyFailed" };
}

/** The first direct dependency that is not ok, barriers not looked through. */
function firstBad(ledger: Ledger, node: number): number | undefined {
  for (const before of predecessorsOf(ledger.layout, node)) {
    if (!isOk(stepOf(ledger, before), stateOf(ledger, before))) return before;
  }
  return undefined;
}

/** `"build" is Failed`. */
export function describeBad(ledger: Ledger, node: number): string | undefined {
  const bad = dependenciesOf(ledger, node).find((dependency) => !dependency.ok);
  return bad === undefined ? undefined : `"${bad.id}" is ${bad.state.phase}`;
}

/** Reads the ledger; valid until the next change. */
export const gateScope = (ledger: Ledger, node: number): GateScope => ({
  id: idOf(ledger, node),
  run: ledger.run,
  success: () => firstBad(ledger, node) === undefined,
  failure: () => firstBad(ledger, node) !== undefined,
  dependencies: () => dependenciesOf(ledger, node),
  state: (id) => {
    const found = ledger.layout.nodeById.get(id);
    return found === undefined ? pendingStep : stateOf(ledger, found);
  },
  main: () => (scopeOf(ledger, node).isFinal ? mainOutcome(ledger) : undefined),
});

function dependenciesOf(ledger: Ledger, node: number): Dependency[] {
  const found: Dependency[] = [];
  for (const before of predecessorsOf(ledger.layout, node)) {
    const step = stepOf(ledger, before);
    if (step.kind === "barrier") {
      found.push(...dependenciesOf(ledger, before));
      continue;
    }
    const state = stateOf(ledger, before);
    found.push({ id: idOf(ledger, before), state, ok: isOk(step, state) });
  }
  return found;
}

export function mainOutcome(ledger: Ledger): MainOutcome {
  const failed = failedNodes(ledger, mainScope).map((node) => idOf(ledger, node));
  if (ledger.run.closing === "Cancel") return { phase: "Canceled", failed };
  const bad = ledger.run.closing === "Deadline" || firstBadOf(ledger, mainScope) !== undefined;
  return { phase: bad ? "Failed" : "Succeeded", failed };
}

export const failedNodes = (ledger: Ledger, scope: number): number[] =>
  nodesOf(ledger, scope).filter(
    (node) => stateOf(ledger, node).phase === "Failed" && stepOf(ledger, node).onFailure === "Fail",
  );

/** An unforgiven failure before a cancel before a skip. */
export function firstBadOf(ledger: Ledger, scope: number): number | undefined {
  const bad = nodesOf(ledger, scope).filter((node) => {
    const state = stateOf(ledger, node);
    return isTerminal(state.phase) && !isOk(stepOf(ledger, node), state);
  });
  const first = (phase: string) => bad.find((node) => stateOf(ledger, node).phase === phase);
  return first("Failed") ?? first("Canceled") ?? bad[0];
}

/** Nodes of a scope itself in topological order, without barriers. */
export function nodesOf(ledger: Ledger, scope: number): number[] {
  const { plan, base } = item(ledger.layout.scopes, scope);
  const nodes: number[] = [];
  for (const local of plan.graph.order) {
    if (stepOf(ledger, base + local).kind !== "barrier") nodes.push(base + local);
  }
  return nodes;
}
