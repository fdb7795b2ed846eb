import { s } from "#lib/schema/index.ts";
import { stepStatuses } from "../results/build-document.ts";
import { conditions, flag, instant, number, orNull, text, whole } from "./fields.ts";

// The spec is fixed at creation. Logs, artifacts and secrets are kept outside of the object.

export const BuildSpec = s.object(
  {
    project: text("The Project in this namespace to build."),
    buildId: number,
    ref: text("The branch, tag or full ref to build; the project's default branch when absent."),
    commit: text("The commit to build; overrides ref."),
    stage: s.string({ default: "ALL", minLength: 1, description: "The stage to run, or ALL." }),
    environment: text("The environment of the definition to use."),
    inputs: s.optional(
      s.map(s.any(), {
        description: "Inputs: texts, numbers or booleans; passwords as {secretKeyRef: {name, key}}.",
      }),
    ),
    engine: text("Id of the engine that runs the build; default: the server's."),
    cancel: flag("Cancels the build. This cannot be undone."),
    definition: text("The definition to read inputs with; default: the project's."),
  },
  { description: "One run of a definition." },
);

const stepStatus = (description: string) => s.oneOf(stepStatuses, { description });

/** The worker's fields; step 0 is what happened before the first step. */
const step = s.object({
  stepId: s.integer({ minimum: 0, description: "Within the build, from 1." }),
  stageId: whole("The stage of the step."),
  name: s.string({ description: "Name in the definition." }),
  type: text("The type of the step."),
  image: text("Image of the step."),
  status: stepStatus("Current status."),
  exitCode: orNull(s.integer({ description: "Exit code of the step." })),
  startedAt: orNull(s.time({ description: "Start time." })),
  finishedAt: orNull(s.time({ description: "End time." })),
  reason: text("One-word reason of a failure or of waiting for a worker."),
  message: text("Human-readable reason."),
});

const stage = s.object({
  stageId: s.integer({ minimum: 0, description: "Within the build, from 1." }),
  name: s.string({ description: "Name in the definition." }),
  runsIf: s.optional(s.oneOf(["success", "fail", "always"], { description: "Condition of the stage." })),
  steps: s.optional(s.list(s.integer(), { description: "Ids of its steps." })),
  status: stepStatus("Current status."),
});

/** States of the REST API: Scheduling (no worker has begun), Running, Completed (everything is stored), Failed (with a
 * reason). */
export const buildStatuses = ["Scheduling", "Running", "Completed", "Failed"] as const;

/** `status` is Wharf's word, `phase` the engine's: canceled builds are Failed and Canceled. */
export const BuildStatus = s.object({
  phase: s.optional(
    s.oneOf(["Pending", "Running", "Cancelling", "Canceled", "Succeeded", "Failed"], {
      description: "Phase common to all kinds of runs.",
    }),
  ),
  status: s.optional(s.oneOf(buildStatuses, { description: "Status in the REST API." })),
  observedGeneration: whole("The generation that was last reconciled."),
  workerId: text("Id of the worker that runs the build."),
  scheduledOn: instant("Time of the request."),
  startedOn: instant("Start time."),
  finishedOn: instant("End time."),
  canceledOn: instant("Time of the cancellation request."),
  isInvalid: flag("The build could not be started."),
  reason: text("One-word reason of a failure."),
  message: text("Human-readable reason."),
  stages: s.optional(s.list(stage, { key: "stageId", description: "Known stages." })),
  steps: s.optional(s.list(step, { key: "stepId", description: "Known steps." })),
  logs: s.optional(
    s.object(
      { lines: whole("Number of stored lines."), bytes: whole("Bytes of the messages.") },
      { description: "Stored log." },
    ),
  ),
  testResults: s.optional(
    s.object(
      { total: whole("All tests."), failed: whole("Failed."), passed: whole("Passed."), skipped: whole("Skipped.") },
      { description: "Totals of all test result files." },
    ),
  ),
  outputs: s.optional(
    s.map(s.string(), { description: "Outputs: name=value lines of outputs.env files; the last value wins." }),
  ),
  conditions,
});
