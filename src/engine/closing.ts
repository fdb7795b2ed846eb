import { int, item } from "./arrays.ts";
import { type Ledger, scopeOf, stateOf, stepOf } from "./ledger.ts";

/** Nothing new may start here: the run is closing, or a failure drains it. */
export function isClosing(ledger: Ledger, node: number): boolean {
  const { isFinal } = scopeOf(ledger, node);
  if ((isFinal ? ledger.run.final?.closing : ledger.run.closing) !== undefined) return true;
  let exempt = false;
  for (let at = node; at >= 0; at = scopeOf(ledger, at).group) {
    if (at !== node && stateOf(ledger, at).phase === "Cancelling") return true;
    exempt ||= stepOf(ledger, at).afterFailure === true;
    if (!exempt && isDraining(ledger, scopeOf(ledger, at).index)) return true;
  }
  return false;
}

/** An unforgiven failure, without the strategy Continue. */
export const isDraining = (ledger: Ledger, scope: number): boolean =>
  int(ledger.failed, scope) > 0 && item(ledger.layout.scopes, scope).plan.policy.strategy !== "Continue";
