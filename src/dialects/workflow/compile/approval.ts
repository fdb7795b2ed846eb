import type { FieldPath, JsonObject } from "#lib/base/index.ts";
import type { ApprovalRule } from "#engine/index.ts";
import type { Approval, WorkflowStep } from "../kinds.ts";
import type { Report } from "#kernel/dialect/index.ts";
import type { CompiledStep } from "./compiled.ts";
import { approvedBy } from "./output-names.ts";
import { checkDeclarations, withDefaults } from "./params.ts";
import type { StepSource } from "./step-source.ts";
import { render, runValues, type StaticValues } from "./values.ts";

const meaningless = {
  forEach: "an approval has no child to fan out",
  repeat: "an approval has no child to repeat",
  completion: "an approval has no object to look at",
  outputs: "the outputs of an approval are its inputs and approvedBy",
  retry: "a decision is not tried again",
  timeoutSeconds: "the time to decide is approval.timeoutSeconds",
} as const satisfies Partial<Record<keyof WorkflowStep, string>>;

/** `stepDefaults` may hold fields for attempts; the step itself may not. */
export function checkApproval({ path, written }: StepSource, approval: Approval, report: Report): void {
  for (const [field, why] of Object.entries(meaningless))
    if (Object.hasOwn(written, field)) report([...path, field], "forbidden", why);
  const at = [...path, "approval"];
  checkApprovers(approval, at, report);
  const { inputs = [] } = approval;
  checkDeclarations(inputs, [...at, "inputs"], report);
  for (const [index, { name, required, default: otherwise }] of inputs.entries()) {
    const place = [...at, "inputs", index];
    if (name === approvedBy) report([...place, "name"], "forbidden", "approvedBy is the list of approvers");
    if (approval.onTimeout === "Approve" && required === true && otherwise === undefined)
      report([...place, "required"], "forbidden", "it has no value when onTimeout is Approve; give it a default");
  }
  if (approval.onTimeout !== undefined && approval.timeoutSeconds === undefined)
    report([...at, "onTimeout"], "forbidden", "means nothing without timeoutSeconds");
}

/** Users are distinguished by name, so a rule cannot need more users than it names. */
function checkApprovers({ approvers, minApprovals = 1 }: Approval, at: FieldPath, report: Report): void {
  if (approvers === undefined) return;
  if (approvers.length === 0)
    report([...at, "approvers"], "required", "at least one approver is required; leave the field out for everybody");
  for (const [index, { name }] of approvers.entries())
    if (name.includes("${{"))
      report([...at, "approvers", index, "name"], "invalid-value", "must be a name: approvers are not computed");
  const users = new Set(approvers.map(({ kind, name }) => (kind === "User" ? name : undefined)));
  if (approvers.length > 0 && !users.has(undefined) && users.size < minApprovals)
    report(
      [...at, "minApprovals"],
      "invalid-value",
      `${minApprovals} different users must approve, and only ${users.size} may`,
    );
}

export const approvalRule = (step: CompiledStep, approval: Approval, values: StaticValues): ApprovalRule => ({
  needed: approval.minApprovals ?? 1,
  question(scope) {
    if (step.body === undefined) return {};
    const message = render(step.body, values, runValues(scope));
    if (!message.ok) return { error: message.error };
    const text = typeof message.value === "string" ? message.value : JSON.stringify(message.value);
    return text === "" ? {} : { message: text };
  },
  outputs: (approvals) => approvalOutputs(approval, approvals),
});

/** The last value of each input counts; missing ones get their defaults. */
export const approvalOutputs = (
  { inputs = [] }: Approval,
  approvals: readonly { readonly by?: string; readonly values?: JsonObject }[],
): JsonObject => ({
  ...withDefaults(inputs, Object.assign({}, ...approvals.map(({ values }) => values)) as JsonObject),
  [approvedBy]: approvals.flatMap(({ by }) => by ?? []),
});
