import { unverifiedUser } from "#kernel/model/index.ts";
import type { Approval, Approver } from "./kinds.ts";

// Browser-safe: views name the approvers, and the controller refuses others in the same words.

function nameApprovers(approvers: readonly Approver[]): string {
  const names = approvers.map(({ kind, name }) => `${kind.toLowerCase()} ${name}`);
  const last = names.pop() ?? "";
  return names.length === 0 ? last : `${names.join(", ")} or ${last}`;
}

/** `waits for 2 approvals of group release`. */
export function awaitedApproval({ approvers = [], minApprovals = 1 }: Approval): string {
  const count = minApprovals === 1 ? "approval" : `${minApprovals} approvals`;
  return `waits for ${count}${approvers.length === 0 ? "" : ` of ${nameApprovers(approvers)}`}`;
}

export interface Actor {
  readonly by?: string;
  readonly groups?: readonly string[];
}

/** Why this person may not decide; undefined if they may. Approvals by rule need a user name. */
export function refusalOf(
  { approvers = [], minApprovals = 1 }: Approval,
  { by, groups = [] }: Actor,
): string | undefined {
  const isKnown = by !== undefined && by !== unverifiedUser;
  if (approvers.length === 0) {
    if (isKnown || minApprovals === 1) return undefined;
    return `the server has not verified who acts, and ${minApprovals} different users must approve`;
  }
  const may = `${nameApprovers(approvers)} may decide`;
  if (!isKnown) return `the server has not verified who acts, and only ${may}`;
  const isApprover = approvers.some(({ kind, name }) => (kind === "User" ? name === by : groups.includes(name)));
  return isApprover ? undefined : `user ${by} is no approver of this step; ${may}`;
}
