import type { WorkflowStep } from "../kinds.ts";

/** The output of every approval: the users who gave it. */
export const approvedBy = "approvedBy";

/** Names of the outputs that expressions of later steps may use. */
export const outputNames = ({ approval, outputs = {} }: WorkflowStep): readonly string[] =>
  approval === undefined ? Object.keys(outputs) : [...(approval.inputs ?? []).map(({ name }) => name), approvedBy];
