import { isJsonObject } from "#lib/base/index.ts";
import type { WorkflowStep } from "../kinds.ts";

/** Output of every approval: who approved. */
export const approvedBy = "approvedBy";

/** Outputs that later steps may use; undefined if only a template knows. */
export function outputNames({ approval, workflow, forEach, outputs }: WorkflowStep): readonly string[] | undefined {
  if (approval !== undefined) return [...(approval.inputs ?? []).map(({ name }) => name), approvedBy];
  // The child's outputs, unless the step declares its own or fans out.
  if (outputs !== undefined || workflow === undefined || forEach !== undefined) return Object.keys(outputs ?? {});
  if (workflow.spec === undefined) return undefined;
  const given = workflow.spec["outputs"];
  return isJsonObject(given) ? Object.keys(given) : [];
}
