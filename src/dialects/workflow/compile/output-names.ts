import { isJsonObject } from "#lib/base/index.ts";
import type { WorkflowStep } from "../kinds.ts";

/** The output of every approval: the users who gave it. */
export const approvedBy = "approvedBy";

/** Names of the outputs that expressions of later steps may use; undefined where only a template tells. */
export function outputNames({ approval, workflow, forEach, outputs }: WorkflowStep): readonly string[] | undefined {
  if (approval !== undefined) return [...(approval.inputs ?? []).map(({ name }) => name), approvedBy];
  // A child's outputs are the step's, unless it declares some; a fan-out gathers only those.
  if (outputs !== undefined || workflow === undefined || forEach !== undefined) return Object.keys(outputs ?? {});
  if (workflow.spec === undefined) return undefined;
  const given = workflow.spec["outputs"];
  return isJsonObject(given) ? Object.keys(given) : [];
}
