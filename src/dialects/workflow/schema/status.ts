import { s } from "#lib/schema/index.ts";
import { NotificationsStatus } from "../notify/schema.ts";
import { referenceFields } from "./fields.ts";

const StepPhase = s.oneOf(
  "Pending",
  "Waiting",
  "Starting",
  "Running",
  "Suspended",
  "Cancelling",
  "Succeeded",
  "Failed",
  "Skipped",
  "Canceled",
);
const RunPhase = s.oneOf("Pending", "Running", "Suspended", "Cancelling", "Succeeded", "Failed", "Canceled");
const Closing = s.oneOf(["Cancel", "Deadline"], { description: "Why the run is being ended before its time." });

/** The proposal has two times: last written, and last change of status. */
export const Condition = s.object({
  type: s.string({ description: "Complete, Failed, Suspended or Invalid." }),
  status: s.oneOf("True", "False", "Unknown"),
  lastProbeTime: s.optional(s.time()),
  lastTransitionTime: s.optional(s.time()),
  reason: s.optional(s.string()),
  message: s.optional(s.string()),
  observedGeneration: s.optional(s.integer()),
});

const Failure = s.object({
  attempt: s.integer(),
  reason: s.optional(s.string()),
  message: s.optional(s.string()),
  finishTime: s.optional(s.time()),
});

/** Without the time, which its child has. */
const ItemFailure = s.object({
  index: s.integer(),
  attempt: s.integer(),
  reason: s.string(),
  message: s.optional(s.string()),
});

/** Texts, because ten thousand items are then at most 20 KiB. */
export const Items = s.object(
  {
    total: s.integer({ description: "How many items there are." }),
    states: s.string({
      description:
        "Run-length coded in index order, as 120S1F4R875P: S succeeded, F failed, K skipped, X canceled, R running, A starting, W waiting, C cancelling, P pending.",
    }),
    attempts: s.optional(s.string({ description: "Attempts where the state does not imply them, as 0-2:2,17:3." })),
    earlier: s.optional(s.string({ description: "Attempts of earlier runs, as ranges." })),
    waits: s.optional(s.string({ description: "When waiting items are started again, as ranges of times." })),
    since: s.optional(s.string({ description: "When active items were started, as ranges of times." })),
    failures: s.optional(s.list(ItemFailure, { description: "The first ten items that failed." })),
  },
  { description: "The items of a fan-out, all of them in one record.", preserveUnknown: true },
);

const Agreement = s.object({
  by: s.optional(s.string({ description: "Absent if the server has not verified the user." })),
  time: s.time(),
  values: s.optional(s.anyObject({ description: "Inputs given along." })),
});

/** With the uid, because names are reused. */
export const ChildReference = s.object(
  {
    ...referenceFields,
    generation: s.optional(
      s.integer({
        description:
          "For an applied object, the generation that this attempt wrote; its status of earlier generations is ignored.",
      }),
    ),
  },
  { description: "Current child, or the referenced object.", atomic: true },
);

export const ArtifactStatus = s.object({
  digest: s.string({ description: "sha256: and the hash of the bytes as they are stored." }),
  size: s.integer({ description: "Bytes as they are stored." }),
  archive: s.optional(s.string({ description: "tar.gz where it is packed." })),
  executable: s.optional(s.boolean({ description: "A file that may be run." })),
});

/** Below 300 bytes without outputs: an object holds a thousand. */
export const StepStatus = s.object(
  {
    complete: s.optional(s.boolean({ description: "The step is ok for its dependants." })),
    reference: s.optional(ChildReference),
    phase: s.optional(StepPhase),
    reason: s.optional(s.string()),
    message: s.optional(s.string()),
    attempt: s.optional(s.integer()),
    startTime: s.optional(s.time()),
    finishTime: s.optional(s.time()),
    notBefore: s.optional(s.time()),
    outputs: s.optional(s.anyObject()),
    artifacts: s.optional(s.map(ArtifactStatus, { description: "Artifacts the step has left, by name." })),
    approvals: s.optional(s.list(Agreement, { description: "The users who approved so far, each once." })),
    items: s.optional(Items),
    iteration: s.optional(s.integer({ description: "Round of a loop; absent in the first." })),
    templateHash: s.optional(s.string({ description: "Hash (SHA-256, cut) of the step as it was when it started." })),
    failures: s.optional(s.list(Failure, { description: "The last three failed attempts." })),
    earlierAttempts: s.optional(s.integer({ description: "Attempts of earlier runs." })),
    readyTime: s.optional(s.time({ description: "When the dependencies were settled; startTime when absent." })),
    attemptTime: s.optional(s.time({ description: "When the current attempt began, if it is not the first." })),
    cancelTime: s.optional(s.time({ description: "When the cancel was decided." })),
    suspendedSeconds: s.optional(s.number()),
    refused: s.optional(s.boolean({ description: "The child of this attempt could not be created yet." })),
  },
  { preserveUnknown: true },
);

const FinallyStatus = s.object(
  {
    startTime: s.time(),
    suspendedSeconds: s.optional(s.number()),
    closing: s.optional(Closing),
  },
  { preserveUnknown: true },
);

const PastRun = s.object({
  runNumber: s.integer(),
  phase: s.string(),
  reason: s.optional(s.string()),
  message: s.optional(s.string()),
  startTime: s.optional(s.time()),
  completionTime: s.optional(s.time()),
});

/** The whole run, and more about it; see `state.ts`. */
export const Status = s.object(
  {
    conditions: s.optional(s.list(Condition, { key: "type" })),
    startTime: s.optional(s.time({ description: "When the controller acknowledged the workflow." })),
    completionTime: s.optional(s.time({ description: "When it became terminal." })),
    statuses: s.optional(s.map(StepStatus, { description: "One entry per step that has left Pending." })),
    phase: s.optional(RunPhase),
    reason: s.optional(s.string()),
    message: s.optional(s.string()),
    progress: s.optional(s.string({ description: "Settled steps of all, as 2/7." })),
    observedGeneration: s.optional(s.integer()),
    runNumber: s.optional(s.integer({ description: "Counts from 1; a retry adds one." })),
    closing: s.optional(Closing),
    forced: s.optional(s.boolean({ description: "A cancel without final steps." })),
    suspendRequested: s.optional(s.boolean({ description: "Suspended by a RunAction." })),
    suspendedSince: s.optional(s.time()),
    suspendedSeconds: s.optional(s.number({ description: "Time of finished suspensions." })),
    finally: s.optional(FinallyStatus),
    concurrency: s.optional(
      s.object(
        {
          limitName: s.string({ description: "The ConcurrencyLimit that holds the workflows of its key." }),
          key: s.string({ description: "The key, filled in." }),
          limit: s.integer({ description: "Workflows that may hold it at once, as this one has it." }),
          queuedTime: s.optional(s.time({ description: "Since when it waits, or has waited, to begin." })),
        },
        { description: "What a workflow with a concurrency key holds while it runs." },
      ),
    ),
    outputs: s.optional(s.anyObject()),
    notifications: s.optional(NotificationsStatus),
    resolvedSpec: s.optional(
      s.anyObject({ description: "What a workflow with a templateRef runs, as it was when it started." }),
    ),
    actsFor: s.optional(
      s.list(s.object({ user: s.string(), groups: s.list(s.string()) }), {
        description:
          "Who wrote the template and the child workflows, administrators excepted: the run does only what all of them may do.",
      }),
    ),
    history: s.optional(s.list(PastRun, { description: "The last ten earlier runs." })),
  },
  { preserveUnknown: true },
);
