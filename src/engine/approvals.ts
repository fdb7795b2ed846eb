import { amend } from "./amend.ts";
import { settleTree } from "./ending.ts";
import type { ActionFact } from "./facts.ts";
import { gateScope } from "./gate-scope.ts";
import { type Ledger, put, stateOf, stepOf } from "./ledger.ts";
import type { ApprovalRule } from "./plan.ts";
import { reasons, seconds, wordsOf } from "./reasons.ts";
import type { Approval } from "./run.ts";
import { toOutcome, toSuspended } from "./transitions.ts";

// Steps that wait for people. The dialect decides who may answer.

/** A failed question fails the step. */
export function askPeople(ledger: Ledger, node: number): void {
  const question = stepOf(ledger, node).approval?.question(gateScope(ledger, node)) ?? {};
  if ("error" in question)
    return settleTree(ledger, node, "Failed", { reason: reasons.expressionError, message: question.error });
  put(ledger, node, toSuspended(stateOf(ledger, node), ledger.now, question.message));
}

/** A rejection, or the last missing approval, decides. */
export function decide(ledger: Ledger, node: number, fact: ActionFact): boolean {
  const state = stateOf(ledger, node);
  if (fact.action === "reject") {
    const why = { reason: reasons.rejected, message: wordsOf(fact) };
    put(ledger, node, toOutcome(state, "Failed", ledger.now, why));
    return true;
  }
  const rule = stepOf(ledger, node).approval;
  if (rule !== undefined) return agree(ledger, node, rule, fact);
  put(ledger, node, toOutcome(state, "Succeeded", ledger.now, { message: wordsOf(fact), outputs: fact.values }));
  return true;
}

/** False for a person who has approved before. */
function agree(ledger: Ledger, node: number, rule: ApprovalRule, fact: ActionFact): boolean {
  const state = stateOf(ledger, node);
  const { by, values } = fact;
  const before = state.approvals ?? [];
  if (before.some((approval) => approval.by === by)) return false;
  const approval = { at: ledger.now, ...(by === undefined ? {} : { by }), ...(values === undefined ? {} : { values }) };
  const approvals = [...before, approval];
  if (approvals.length < rule.needed) {
    const question = rule.question(gateScope(ledger, node));
    const asked = "message" in question && question.message !== undefined ? `${question.message} ` : "";
    const count = countApprovals(approvals, rule.needed);
    put(ledger, node, amend(state, { approvals, message: asked === "" ? count : `${asked}(${count})` }));
    return true;
  }
  const names = namesOf(approvals);
  const message = wordsOf(names === "" ? fact : { ...fact, by: names });
  const outputs = rule.outputs(approvals);
  put(ledger, node, toOutcome(amend(state, { approvals }), "Succeeded", ledger.now, { message, outputs }));
  return true;
}

const namesOf = (approvals: readonly Approval[]): string => approvals.flatMap(({ by }) => by ?? []).join(", ");

/** `1 of 2 approvals: anna`, for people. */
export function countApprovals(approvals: readonly Approval[], needed: number): string {
  const names = namesOf(approvals);
  return `${approvals.length} of ${needed} approvals${names === "" ? "" : `: ${names}`}`;
}

export function endApproval(ledger: Ledger, node: number): void {
  const step = stepOf(ledger, node);
  const state = stateOf(ledger, node);
  const late = `within ${seconds(step.timeout ?? 0)}`;
  if (step.onTimeout === "Approve") {
    // Without a rule there are no outputs.
    const given = step.approval && {
      message: `no rejection ${late}`,
      outputs: step.approval.outputs(state.approvals ?? []),
    };
    return put(ledger, node, toOutcome(state, "Succeeded", ledger.now, given));
  }
  const { approval } = step;
  const missing = approval !== undefined && (state.approvals ?? []).length > 0;
  const message = missing
    ? `only ${countApprovals(state.approvals ?? [], approval.needed)} ${late}`
    : `no decision ${late}`;
  put(ledger, node, toOutcome(state, "Failed", ledger.now, { reason: reasons.rejected, message }));
}
