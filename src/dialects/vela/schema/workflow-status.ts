import { s } from "#lib/schema/index.ts";
import { count, flag, instant, referenceFields, text } from "./fields.ts";

const stepFields = {
  id: text("Unique id, constant during a run."),
  name: text("Name of the step."),
  type: text("Type of the step."),
  phase: text("pending, running, suspending, succeeded, failed or skipped."),
  reason: text("Why it is in this phase."),
  message: text("An explanation for people."),
  firstExecuteTime: instant("When it was first executed."),
  lastExecuteTime: instant("When it was last executed."),
  resourceRef: s.optional(s.object(referenceFields, { description: "The object that does the work of the step." })),
  attempts: count("Executions so far."),
  executions: count("Finished executions so far."),
  failures: count("Failed executions since the last resume."),
  waits: count("Executions in a row that changed nothing."),
  nextTime: instant("When it is executed again, or resumes."),
  patches: text("Digest of the patches of components that it exported."),
  gate: flag("Whether its condition let it run; absent until decided."),
};

export const StepStatus = s.object({
  ...stepFields,
  subSteps: s.optional(s.list(s.object(stepFields), { description: "Steps of a group." })),
});

/** Fields of a workflow's status that Applications and WorkflowRuns share. */
export const workflowStatusFields = {
  status: text("initializing, executing, suspending, terminated, failed, succeeded or skipped."),
  message: text("An explanation for people."),
  suspend: flag("No step is executed; set it to suspend, unset it to resume."),
  suspendState: text("Why it is suspended."),
  terminated: flag("It stops; set it to terminate."),
  finished: flag("All steps have ended."),
  stepIndex: count("Number of leading steps that have ended."),
  contextBackend: s.optional(s.object(referenceFields, { description: "The ConfigMap that holds the variables." })),
  steps: s.optional(s.list(StepStatus, { description: "The steps so far." })),
  startTime: instant("When it started."),
  endTime: instant("When it ended."),
};
