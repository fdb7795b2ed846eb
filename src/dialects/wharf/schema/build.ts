import { s } from "#lib/schema/index.ts";
import { stepStatuses } from "../results/build-document.ts";
import { conditions, flag, instant, number, orNull, text, whole } from "./fields.ts";

// // The spec is fixed at creation. Logs, artifacts and secrets are kept outside of the object.

export const BuildSpec = s.object(
  {
    project: text("A Project of this namespace: what is cloned, and which inputs there are."),
    buildId: number,
    ref: text("The branch, tag or full ref to build; the project's default branch when absent."),
    commit: text("The commit to build; wins over ref."),
    stage: s.string({ default: "ALL", minLength: 1, description: "The stage to run; ALL is all of them." }),
    environment: text("The environment of the definition whose variables and stages are used."),
    inputs: s.optional(
      s.map(s.any(), {
        description: "Values of inputs: a text, number or boolean, or for passwords {secretKeyRef: {name, key}}.",
      }),
    ),
    engine: text("Id of the engine that runs it; the server's default when absent."),
    cancel: flag("Ends the build. It cannot be taken back."),
    definition: text("The definition that inputs are read by, where it is not the project's."),
  },
  { description: "One run of a definition." },
);

const stepStatus = (description: string) => s.oneOf(stepStatuses, { description });

/** The worker's fields; step 0 is what happened before the first step. */
const step = s.object({
  stepId: s.integer({ minimum: 0, description: "Within the build, from 1." }),
  stageId: whole("Its stage."),
  name: s.string({ description: "As it is written." }),
  type: text("The type of the step."),
  image: text("What it runs in."),
  status: stepStatus("What it has come to."),
  exitCode: orNull(s.integer({ description: "Of its program." })),
  startedAt: orNull(s.time({ description: "When its program began." })),
  finishedAt: orNull(s.time({ description: "When it ended." })),
  reason: text("Why it has failed, or waits for its worker, in one word."),
  message: text("The same for people."),
});

const stage = s.object({
  stageId: s.integer({ minimum: 0, description: "Within the build, from 1." }),
  name: s.string({ description: "As it is written." }),
  runsIf: s.optional(s.oneOf(["success", "fail", "always"], { description: "When it runs." })),
  steps: s.optional(s.list(s.integer(), { description: "Its steps, by id." })),
  status: stepStatus("What it has come to."),
});

/**
 * States of the REST API: Scheduling (no worker has begun), Running, Completed (everything is stored), Failed (with a
 * reason).
 */
export const buildStatuses = ["Scheduling", "Running", "Completed", "Failed"] as const;

/** `status` is Wharf's word, `phase` the engine's: canceled builds are Failed and Canceled. */
export const BuildStatus = s.object({
  phase: s.optional(
    s.oneOf(["Pending", "Running", "Cancelling", "Canceled", "Succeeded", "Failed"], {
      description: "As of every run of this system.",
    }),
  ),
  status: s.optional(s.oneOf(buildStatuses, { description: "In the words of the REST API." })),
  observedGeneration: whole("The generation of the specification that was looked at last."),
  workerId: text("Who runs it."),
  scheduledOn: instant("When it was asked for."),
  startedOn: instant("When it began to run."),
  finishedOn: instant("When it ended."),
  canceledOn: instant("When it was asked to end."),
  isInvalid: flag("It could not be started."),
  reason: text("Why it has failed, in one word."),
  message: text("The same for people."),
  stages: s.optional(s.list(stage, { key: "stageId", description: "Stages, as far as they are known." })),
  steps: s.optional(s.list(step, { key: "stepId", description: "Steps, as far as they are known." })),
  logs: s.optional(
    s.object({ lines: whole("Lines that are stored."), bytes: whole("Their bytes.") }, { description: "Its log." }),
  ),
  testResults: s.optional(
    s.object(
      { total: whole("All tests."), failed: whole("Failed."), passed: whole("Passed."), skipped: whole("Skipped.") },
      { description: "Tests of all files of results together." },
    ),
  ),
  outputs: s.optional(s.map(s.string(), { description: "Last values of name=value lines of files outputs.env." })),
  conditions,
});
