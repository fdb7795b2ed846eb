// The language in one file, from the parts of a step to the kinds: people read a schema from its top to its bottom, as they do the page that is
// made from it.

import { age, column, kind, type ObjectOf, s, type TypeOf } from "#lib/schema/index.ts";
import { Notifications, NotificationsStatus } from "./notify/schema.ts";

const group = "slipway.dev";
const version = "v1alpha1";

/**
 * A field of the language that this version does not carry: the schema keeps it, so that the field is refused by name
 * instead of dropped in silence, and a document of a later version is told what it asks for too early.
 */
const reserved = (what: string) => s.optional(s.any({ description: `${what} Refused by this version.` }));

/** A CEL expression, bare. It is compiled by `compile/expressions.ts`; the schema only knows that it is a text. */
const expression = (description: string) => s.optional(s.string({ minLength: 1, description }));
/** A whole number from 1 on; `validate.ts` has the message. */
const positive = (description: string) => s.optional(s.integer({ minimum: 1, description }));

/** Within one queue; a queue that is empty has no order. */
const priority = (description: string) => s.optional(s.integer({ minimum: -1_000, maximum: 1_000, description }));

/** A Kubernetes ObjectReference; which of its fields are needed depends on where it stands. */
const referenceFields = {
  apiVersion: s.optional(s.string({ description: "Group and version of the referenced kind." })),
  kind: s.optional(s.string({ description: "Kind of the referenced object." })),
  namespace: s.optional(s.string({ description: "The workflow's own namespace when absent." })),
  name: s.optional(s.string({ description: "Name of the referenced object." })),
  uid: s.optional(s.string({ description: "Exactly this object, not another of its name." })),
  resourceVersion: s.optional(s.string({ description: "Accepted and ignored." })),
  fieldPath: s.optional(s.string({ description: "Accepted and ignored." })),
};
const reference = (description: string) => s.object(referenceFields, { description, atomic: true });

/** Attempts of one step; those of a loop count for each of its rounds. */
const Retry = s.object(
  {
    limit: s.optional(s.integer({ minimum: 0, description: "Attempts after the first; 0 when absent." })),
    initialSeconds: s.optional(s.number({ minimum: 0, description: "Pause after the first failure; 10 when absent." })),
    factor: s.optional(s.number({ minimum: 1, description: "Growth of the pause; 2 when absent." })),
    maxSeconds: s.optional(s.number({ minimum: 0, description: "Longest pause; 300 when absent." })),
    on: s.optional(
      s.list(s.oneOf("Error", "Timeout", "Lost"), {
        set: true,
        description: "Classes of failure that are tried again; all of them when absent.",
      }),
    ),
    expression: expression("CEL over attempt, reason, message, exitCode and outputs: try again when true."),
  },
  { description: "Further attempts after a failed one; each is a new child." },
);

/** What a step has and `stepDefaults` may have for it. */
const timing = {
  retry: s.optional(Retry),
  timeoutSeconds: positive("Time for one attempt, from the creation of its child."),
  deadlineSeconds: positive("Time for the whole step: retries and every kind of waiting included."),
  onFailure: s.optional(
    s.oneOf(["Fail", "Continue"], {
      description: "Fail when absent. Continue forgives a failure: dependants run and the workflow may succeed.",
    }),
  ),
};

/** Approvals have no attempts and take none of it. */
const StepDefaults = s.object(timing, { description: "Defaults of all steps; a step's own field wins whole." });

/** Where a value for later steps comes from. */
const Output = s.object({
  expression: expression("CEL over result, object, params and steps. Absent: the result's key of this name."),
  default: s.optional(s.any({ description: "Value when the step did not produce the output." })),
});

/** What `compile/container-job.ts` makes a Job of. */
const Container = s.object(
  {
    image: s.optional(s.string({ description: "Image to run." })),
    command: s.optional(s.list(s.string(), { description: "Program and its first arguments." })),
    args: s.optional(s.list(s.string(), { description: "Further arguments." })),
    env: s.optional(s.list(s.anyObject(), { description: "Environment, as in a Pod's container." })),
    envFrom: s.optional(s.list(s.anyObject(), { description: "Environment from ConfigMaps and Secrets." })),
    workingDir: s.optional(s.string({ description: "Directory the program starts in." })),
    resources: s.optional(s.anyObject({ description: "Requests and limits, as in a Pod's container." })),
    volumeMounts: s.optional(s.list(s.anyObject(), { description: "Where volumes appear." })),
    volumes: s.optional(s.list(s.anyObject(), { description: "Volumes of the Pod." })),
  },
  { description: "Short form of a Job with one container named main." },
);

/** Needs nobody: the engine itself carries it out. */
const Wait = s.object(
  {
    seconds: positive("How long to wait."),
    until: expression("An RFC 3339 time, or a CEL expression that gives one."),
  },
  { description: "A timer: exactly one of seconds and until." },
);

/** A combination of matrix values, or a part of one. */
const combinations = (description: string) => s.optional(s.list(s.anyObject(), { description }));

/** One child for each of many things; all of them are one step to those who depend on it. */
const ForEach = s.object(
  {
    items: s.optional(s.list(s.any(), { description: "The items themselves." })),
    from: expression("CEL over params, steps and workflow that gives the list of items."),
    matrix: s.optional(
      s.object(
        {
          include: combinations("Adds members to combinations they do not contradict, or else further combinations."),
          exclude: combinations("Takes away every combination that has all these members."),
        },
        { description: "Every combination of the values of its axes, each a list.", preserveUnknown: true },
      ),
    ),
    maxParallel: positive("Items active at once."),
    failFast: s.optional(s.boolean({ description: "The first failure cancels the other items." })),
    limit: s.optional(
      s.integer({ minimum: 1, maximum: 10_000, description: "More items fail the step; 256 when absent." }),
    ),
  },
  { description: "One child per item: exactly one of items, from and matrix." },
);

/** Rounds after each other, where `retry` is about one that failed. */
const Repeat = s.object(
  {
    until: s.string({
      minLength: 1,
      description: "CEL over result, object, outputs and iteration: the loop is done when true.",
    }),
    maxIterations: s.optional(
      s.integer({ minimum: 1, maximum: 1_000, description: "Rounds before the step fails; 10 when absent." }),
    ),
    intervalSeconds: s.optional(s.number({ minimum: 0, description: "Pause between rounds; none when absent." })),
  },
  { description: "A new child after each that succeeded, until the condition is true." },
);

/** Only steps with a child have one; `compile/cache.ts` says which. */
const Cache = s.object(
  {
    key: s.optional(
      s.string({
        minLength: 1,
        description: "Names the result instead of a hash of the step's inputs; ${{ }} is filled in.",
      }),
    ),
    maxAgeSeconds: positive("Older results are not taken; any that is still kept when absent."),
  },
  { description: "A result of the same inputs is taken instead of carrying the step out once more." },
);

/** Of a workflow, and of an approval for what people give along. */
const Param = s.object({
  name: s.string({ minLength: 1, description: "Name in expressions and arguments." }),
  type: s.optional(
    s.oneOf(["string", "integer", "number", "boolean", "array", "object"], { description: "string when absent." }),
  ),
  default: s.optional(s.any({ description: "Value when no argument is given." })),
  enum: s.optional(s.list(s.any(), { description: "The values allowed." })),
  pattern: s.optional(s.string({ description: "RE2 expression a text must contain." })),
  minimum: s.optional(s.number({ description: "Smallest number allowed." })),
  maximum: s.optional(s.number({ description: "Largest number allowed." })),
  items: s.optional(s.anyObject({ description: "What the items of an array must be." })),
  description: s.optional(s.string({ description: "Explanation for people." })),
  required: s.optional(s.boolean({ description: "An argument must be given." })),
  secret: reserved("A value that must come from a Secret."),
});

/** Who decides is told by RunActions; here is only who may. */
const Approval = s.object(
  {
    message: s.optional(s.string({ description: "What people are asked; ${{ }} is filled in." })),
    approvers: s.optional(
      s.list(
        s.object({
          kind: s.oneOf(["User", "Group"], { description: "User or Group." }),
          name: s.string({ minLength: 1, description: "Name, as the server knows it." }),
        }),
        { description: "Who may decide; everybody who may create RunActions when absent." },
      ),
    ),
    minApprovals: positive("Different people who must approve; 1 when absent. One rejection rejects."),
    inputs: s.optional(
      s.list(Param, { key: "name", description: "What is given with an approval, and becomes outputs of the step." }),
    ),
    timeoutSeconds: positive("Time to decide."),
    onTimeout: s.optional(
      s.oneOf(["Reject", "Approve"], { description: "What it means when nobody decides in time; Reject when absent." }),
    ),
  },
  { description: "A person's decision, given by RunActions approve and reject." },
);

/** Never of another namespace: who may write there is not who may write here. */
const TemplateRef = s.object(
  { name: s.string({ minLength: 1, description: "Name of the WorkflowTemplate, in the workflow's namespace." }) },
  { description: "Steps and all else that is not the run's own come from a WorkflowTemplate." },
);

/** A run of its own, with a status of its own; it ends with its parent. */
const ChildWorkflow = s.object(
  {
    templateRef: s.optional(TemplateRef),
    spec: s.optional(
      s.anyObject({
        description: "What the child runs, as the spec of a WorkflowTemplate; its expressions are the child's.",
      }),
    ),
    arguments: s.optional(
      s.map(s.any(), { description: "Values for the child's params, with this workflow's expressions." }),
    ),
  },
  { description: "A child Workflow: exactly one of templateRef and spec." },
);

const artifactPath = (description: string) => s.optional(s.string({ minLength: 1, maxLength: 1024, description }));

const InputArtifact = s.object({
  name: s.string({ minLength: 1, description: "Name of the input." }),
  from: s.string({ minLength: 1, description: "STEP/ARTIFACT: an artifact of a step this one depends on." }),
  path: artifactPath("Where it is put, below $SLIPWAY_ARTIFACTS; the name when absent."),
  optional: s.optional(s.boolean({ description: "The step runs also when the artifact was not left." })),
});

const OutputArtifact = s.object({
  name: s.string({ minLength: 1, description: "Name for later steps." }),
  path: artifactPath("A file or directory below $SLIPWAY_ARTIFACTS; the name when absent."),
  optional: s.optional(s.boolean({ description: "That it is not there does not fail the attempt." })),
  archive: s.optional(
    s.oneOf(["none", "tar.gz"], {
      description:
        "How it is stored: as it is, or packed. When absent files are stored as they are, directories packed.",
    }),
  ),
});

/** What it does is one member of a union, which the schema cannot say: `compile/shape.ts` does. */
const Step = s.object(
  {
    jobTemplate: s.optional(s.anyObject({ description: "Metadata and spec of the Job to create." })),
    externalRef: s.optional(
      reference("A resource that exists or will exist; waited for, never created, owned or deleted."),
    ),
    template: s.optional(s.anyObject({ description: "Any resource, written as itself." })),
    container: s.optional(Container),
    wait: s.optional(Wait),
    approval: s.optional(Approval),
    workflow: s.optional(ChildWorkflow),
    patch: reserved("A change of an existing object."),
    http: reserved("One HTTP request."),
    operation: s.optional(
      s.oneOf(["Create", "Apply"], {
        description:
          "Create when absent: a new object. Apply: server-side apply to the object of the template's name, which may exist.",
      }),
    ),
    ownership: s.optional(
      s.oneOf(["Owned", "Independent"], {
        description:
          "An Owned object of a template goes with the workflow, an Independent one stays. Owned when absent, of Apply Independent.",
      }),
    ),
    force: s.optional(
      s.boolean({ description: "Apply: take over fields that others manage, instead of failing with a conflict." }),
    ),
    dependencies: s.optional(s.list(s.string(), { description: "Keys of the steps that must be settled first." })),
    when: expression("CEL gate, evaluated once when the dependencies are settled."),
    ...timing,
    outputs: s.optional(s.map(Output, { description: "Values for later steps." })),
    completion: s.optional(s.any({ description: "Created, Ready, or {success, failure}: CEL over object." })),
    displayName: s.optional(s.string({ description: "Name for people." })),
    description: s.optional(s.string({ description: "Explanation for people." })),
    forEach: s.optional(ForEach),
    repeat: s.optional(Repeat),
    cache: s.optional(Cache),
    locks: s.optional(
      s.list(
        s.object({
          name: s.string({
            minLength: 1,
            description: "Name of a ConcurrencyLimit; one that does not exist has one place.",
          }),
        }),
        { key: "name", maxItems: 16, description: "Held, all of them, from the first start of the step to its end." },
      ),
    ),
    priority: priority("Order of starts where slots and locks are short: higher first; the workflow's when absent."),
    inputs: s.optional(
      s.object(
        { artifacts: s.optional(s.list(InputArtifact, { key: "name", description: "Artifacts of earlier steps." })) },
        { description: "What is put into the step's directory $SLIPWAY_ARTIFACTS before it starts." },
      ),
    ),
    outputArtifacts: s.optional(
      s.list(OutputArtifact, {
        key: "name",
        description:
          "Files and directories of $SLIPWAY_ARTIFACTS that are kept for later steps when the step succeeds.",
      }),
    ),
    pendingTimeoutSeconds: reserved("Time a child may exist without a running pod."),
  },
  {
    description:
      "A vertex of the graph: exactly one of jobTemplate, externalRef, template, workflow, container, wait and approval.",
  },
);

/** Carried out with a ConcurrencyLimit that bears a hash of the key. */
const Concurrency = s.object(
  {
    key: s.string({
      minLength: 1,
      description: "Workflows of the namespace with the same text share it; ${{ }} is filled in.",
    }),
    limit: s.optional(s.integer({ minimum: 1, maximum: 1_000, description: "Workflows at once; 1 when absent." })),
    onConflict: s.optional(
      s.oneOf(["Queue", "CancelRunning", "CancelNew"], {
        description:
          "Queue (when absent) waits for its turn, CancelRunning ends the older ones, CancelNew does not run.",
      }),
    ),
  },
  { description: "At most so many workflows with this key at once." },
);

/** Of Workflows, templates and schedules alike; what only some of them may have is for their checks. */
export const Spec = s.object({
  steps: s.optional(s.map(Step, { description: "Vertices of the graph by key." })),
  finally: s.optional(s.map(Step, { description: "Steps that run after all others are settled, always." })),
  finallyDeadlineSeconds: positive("Time for the final steps; 600 when absent."),
  activeDeadlineSeconds: positive("Run time allowed from status.startTime, suspension excluded."),
  selector: s.optional(
    s.object(
      {
        matchLabels: s.optional(s.map(s.string(), { description: "Put on every child." })),
        matchExpressions: s.optional(s.list(s.anyObject(), { description: "Not supported." })),
      },
      { description: "Selects the created jobs; by the workflow's uid when absent." },
    ),
  ),
  metadata: s.optional(s.anyObject({ description: "Accepted and ignored." })),
  params: s.optional(s.list(Param, { key: "name", description: "Typed inputs." })),
  arguments: s.optional(s.map(s.any(), { description: "Values for params." })),
  outputs: s.optional(s.map(s.string(), { description: "CEL expressions, evaluated when the workflow succeeds." })),
  suspend: s.optional(s.boolean({ description: "Nothing new starts; running children go on." })),
  parallelism: positive("Steps active at once."),
  failureStrategy: s.optional(
    s.oneOf(["Continue", "Drain", "Cancel"], {
      description:
        "After a failure: Continue (when absent) skips its dependants, Drain starts nothing new, Cancel also ends what runs.",
    }),
  ),
  stepDefaults: s.optional(StepDefaults),
  ttlSecondsAfterFinished: s.optional(
    s.integer({ minimum: 0, description: "Delete the workflow that long after its end." }),
  ),
  templateRef: s.optional(TemplateRef),
  priority: priority("Place in queues for locks and concurrency keys: higher first; 0 when absent."),
  concurrency: s.optional(Concurrency),
  archive: reserved("Keep the final object."),
  notifications: s.optional(Notifications),
  serviceAccountName: reserved("Account of the created Pods."),
  podDefaults: reserved("Defaults of the created Pods."),
});

/** As in the engine, which says what each of them means. */
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

/** The proposal has two times: when it was last written, and when its status last changed. */
const Condition = s.object({
  type: s.string({ description: "Complete, Failed, Suspended or Invalid." }),
  status: s.oneOf("True", "False", "Unknown"),
  lastProbeTime: s.optional(s.time()),
  lastTransitionTime: s.optional(s.time()),
  reason: s.optional(s.string()),
  message: s.optional(s.string()),
  observedGeneration: s.optional(s.integer()),
});

/** One attempt that failed, for people: the engine does not look at it. */
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

/** Ten thousand items are 20 KiB at worst, which is why they are texts and not objects. */
const Items = s.object(
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

/** One person who has approved. */
const Agreement = s.object({
  by: s.optional(s.string({ description: "Absent where nobody has verified who it was." })),
  time: s.time(),
  values: s.optional(s.anyObject({ description: "Inputs given along." })),
});

const ChildReference = s.object(
  {
    ...referenceFields,
    generation: s.optional(
      s.integer({
        description:
          "Of an applied object, what this attempt left: what its status says of earlier ones does not count.",
      }),
    ),
  },
  { description: "Current child, or the referenced object.", atomic: true },
);

const ArtifactStatus = s.object({
  digest: s.string({ description: "sha256: and the hash of the bytes as they are stored." }),
  size: s.integer({ description: "Bytes as they are stored." }),
  archive: s.optional(s.string({ description: "tar.gz where it is packed." })),
  executable: s.optional(s.boolean({ description: "A file that may be run." })),
});

/** Below 300 bytes without outputs: a thousand of them are one object. */
const StepStatus = s.object(
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
    approvals: s.optional(s.list(Agreement, { description: "Who has approved so far, each person once." })),
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

/** The final steps have a clock and an end of their own. */
const FinallyStatus = s.object(
  {
    startTime: s.time(),
    suspendedSeconds: s.optional(s.number()),
    closing: s.optional(Closing),
  },
  { preserveUnknown: true },
);

/** How a run ended that a retry has taken up again. */
const PastRun = s.object({
  runNumber: s.integer(),
  phase: s.string(),
  reason: s.optional(s.string()),
  message: s.optional(s.string()),
  startTime: s.optional(s.time()),
  completionTime: s.optional(s.time()),
});

/** The whole run, and beside it what is told about it. `state.ts` reads and writes it. */
const Status = s.object(
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
    history: s.optional(s.list(PastRun, { description: "The last ten earlier runs." })),
  },
  { preserveUnknown: true },
);

/** One run of a graph of steps. */
export const Workflow = kind({
  group,
  version,
  kind: "Workflow",
  plural: "workflows",
  scope: "Namespaced",
  shortNames: ["wf"],
  categories: ["all", "slipway"],
  description: "One run of a directed acyclic graph of steps.",
  spec: Spec,
  status: Status,
  columns: [
    column("Phase", ".status.phase"),
    column("Steps", ".status.progress"),
    column("Message", ".status.message", { priority: 1 }),
    column("Started", ".status.startTime", { type: "date" }),
    age(),
  ],
});
export type Workflow = ObjectOf<typeof Workflow>;

/** A specification that many workflows refer to; nothing runs by itself. */
export const WorkflowTemplate = kind({
  group,
  version,
  kind: "WorkflowTemplate",
  plural: "workflowtemplates",
  scope: "Namespaced",
  shortNames: ["wft"],
  categories: ["slipway"],
  description: "A specification of workflows, with parameters, for Workflows and steps to refer to.",
  spec: Spec,
  columns: [age()],
});
export type WorkflowTemplate = ObjectOf<typeof WorkflowTemplate>;
export type WorkflowSpec = TypeOf<typeof Spec>;
export type WorkflowStep = TypeOf<typeof Step>;
export type WorkflowStatus = TypeOf<typeof Status>;
export type StepStatus = TypeOf<typeof StepStatus>;
export type WorkflowCondition = TypeOf<typeof Condition>;
export type Param = TypeOf<typeof Param>;
export type RetrySpec = TypeOf<typeof Retry>;
export type StepOutput = TypeOf<typeof Output>;
export type ArtifactStatus = TypeOf<typeof ArtifactStatus>;
export type InputArtifact = TypeOf<typeof InputArtifact>;
export type OutputArtifact = TypeOf<typeof OutputArtifact>;
export type ForEach = TypeOf<typeof ForEach>;
export type ItemsStatus = TypeOf<typeof Items>;
export type Approval = TypeOf<typeof Approval>;
export type Approver = NonNullable<Approval["approvers"]>[number];
export type Reference = NonNullable<WorkflowStep["externalRef"]>;
/** What a status says of the object of a step. */
export type ChildReference = TypeOf<typeof ChildReference>;

/** A person's command to a run. */
export const RunAction = kind({
  group,
  version,
  kind: "RunAction",
  plural: "runactions",
  scope: "Namespaced",
  shortNames: ["ra"],
  categories: ["slipway"],
  description: "A command to a run: cancel, suspend, resume, retry, approve, reject or skip.",
  spec: s.object({
    target: reference("The run to act on."),
    action: s.oneOf(["cancel", "suspend", "resume", "retry", "approve", "reject", "skip"], {
      description: "What to do. resume of a step that waits for approval approves it.",
    }),
    step: s.optional(s.string({ description: "Act on this step only." })),
    steps: s.optional(s.list(s.string(), { description: "retry: these steps and their descendants." })),
    values: s.optional(s.anyObject({ description: "Inputs of an approval." })),
    force: s.optional(s.boolean({ description: "cancel: without the final steps." })),
    reason: s.optional(s.string({ description: "Why, for people." })),
  }),
  status: s.object({
    phase: s.optional(s.oneOf("Accepted", "Done", "Refused")),
    message: s.optional(s.string()),
    by: s.optional(s.string({ description: "Who acted." })),
    groups: s.optional(s.list(s.string(), { description: "Groups of who acted." })),
    runNumber: s.optional(s.integer({ description: "The run the action was accepted for." })),
    finishTime: s.optional(s.time({ description: "When it was done or refused." })),
  }),
  columns: [
    column("Action", ".spec.action"),
    column("Target", ".spec.target.name"),
    column("Phase", ".status.phase"),
    column("By", ".status.by"),
    column("Message", ".status.message", { priority: 1 }),
    age(),
  ],
});
export type RunAction = ObjectOf<typeof RunAction>;
