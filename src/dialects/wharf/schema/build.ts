import { s } from "#lib/schema/index.ts";
import { stepStatuses } from "../results/build-document.ts";
import { conditions, flag, instant, number, orNull, text, whole } from "./fields.ts";

// What a build is of stands in its specification and is fixed when it is created; what has become of it stands in its status. Neither holds
// log lines, artifacts or values of secrets: those would make every change of an object as large as a build.

/** One run of a definition: what is to be cloned, which part of the definition is run, and with which inputs. */
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

/**
 * A step as the worker tells it, in the fields of its build.json, so that nothing has to be translated on the way. Step 0 is what happened
 * before the first step: cloning.
 */
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

/** A stage that was selected; stage 0 is that of step 0. Its condition is looked at by the worker when it would begin. */
const stage = s.object({
  stageId: s.integer({ minimum: 0, description: "Within the build, from 1." }),
  name: s.string({ description: "As it is written." }),
  runsIf: s.optional(s.oneOf(["success", "fail", "always"], { description: "When it runs." })),
  steps: s.optional(s.list(s.integer(), { description: "Its steps, by id." })),
  status: stepStatus("What it has come to."),
});

/**
 * The words of the REST API; people of Wharf know no others.
 *
 * - Scheduling: it is stored; its worker is asked for, or has not begun.
 * - Running: the first step has begun, or is about to.
 * - Completed: every stage that had to succeed has, and everything that the worker has said is stored.
 * - Failed: a step has failed, somebody has ended it, it could not be started, or nothing was heard of its worker any more. The reason tells.
 */
export const buildStatuses = ["Scheduling", "Running", "Completed", "Failed"] as const;

/**
 * What has become of a build. `status` is the word that clients of Wharf know, `phase` the one that every run of this system has: a build that
 * was ended by somebody is Failed to the first and Canceled to the second. Conditions are Complete and Failed, for who waits for either.
 */
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
