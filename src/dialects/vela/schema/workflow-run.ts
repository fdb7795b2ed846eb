import { s } from "#lib/schema/index.ts";
import { ActsFor, Conditions, count, free, text } from "./fields.ts";
import { Mode, Steps } from "./step.ts";
import { workflowStatusFields } from "./workflow-status.ts";

export const WorkflowRunSpec = s.object({
  mode: Mode,
  context: free("Further members of context."),
  workflowSpec: s.optional(s.object({ steps: Steps }, { description: "What to run." })),
  workflowRef: text("Name of a Workflow in the namespace, instead of workflowSpec."),
});

export const WorkflowRunStatus = s.object({
  ...workflowStatusFields,
  mode: Mode,
  conditions: Conditions,
  observedGeneration: count("The generation that was reconciled."),
  actsFor: ActsFor,
  snapshot: text("Digest of what it was started with."),
});
