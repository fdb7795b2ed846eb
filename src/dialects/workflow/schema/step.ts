import { s } from "#lib/schema/index.ts";
import { expression, positive, priority, reference, reserved } from "./fields.ts";

// Ordered from the parts to the step, as the reference page is read.

/** In a loop, attempts per round. */
export const Retry = s.object(
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
    expression: expression("CEL over attempt, reason, message, exitCode and outputs: retry when true."),
  },
  { description: "Further attempts after a failed one; each is a new child." },
);

/** Allowed in `stepDefaults`. */
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

/** Approvals have no attempts and ignore it. */
export const StepDefaults = s.object(timing, {
  description: "Defaults of all steps; a field of a step replaces the default, without merging.",
});

export const Output = s.object({
  expression: expression("CEL over result, object, params and steps. Absent: the result's key of this name."),
  default: s.optional(s.any({ description: "Value when the step did not produce the output." })),
});

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

const Wait = s.object(
  {
    seconds: positive("How long to wait."),
    until: expression("An RFC 3339 time, or a CEL expression that gives one."),
  },
  { description: "A timer: exactly one of seconds and until." },
);

const combinations = (description: string) => s.optional(s.list(s.anyObject(), { description }));

/** One child per item; dependants see one step. */
export const ForEach = s.object(
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
    when: expression("CEL condition of each item, over item, index, params, steps and workflow: false skips the item."),
    maxParallel: positive("Items active at once."),
    failFast: s.optional(s.boolean({ description: "The first failure cancels the other items." })),
    limit: s.optional(
      s.integer({ minimum: 1, maximum: 10_000, description: "More items fail the step; 256 when absent." }),
    ),
  },
  { description: "One child per item: exactly one of items, from and matrix." },
);

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

const Cache = s.object(
  {
    key: s.optional(
      s.string({
        minLength: 1,
        description: "Names the result instead of a hash of the step's inputs; ${{ }} is filled in.",
      }),
    ),
    maxAgeSeconds: positive("Maximum age of a reused result; any stored result when absent."),
  },
  { description: "Reuse the result of an earlier run with the same inputs instead of running the step again." },
);

export const Param = s.object({
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
  secret: s.optional(
    s.boolean({
      description:
        "The argument is {secretKeyRef: {name, key}} of a Secret; the value gets into variables of containers and nowhere else.",
    }),
  ),
});

export const Approval = s.object(
  {
    message: s.optional(s.string({ description: "What people are asked; ${{ }} is filled in." })),
    approvers: s.optional(
      s.list(
        s.object({
          kind: s.oneOf(["User", "Group"], { description: "User or Group." }),
          name: s.string({ minLength: 1, description: "Name, as the server knows it." }),
        }),
        { description: "Users who can decide; if absent, every user who can create RunActions." },
      ),
    ),
    minApprovals: positive("Different people who must approve; 1 when absent. One rejection rejects."),
    inputs: s.optional(
      s.list(Param, { key: "name", description: "Values given with an approval; they become outputs of the step." }),
    ),
    timeoutSeconds: positive("Time to decide."),
    onTimeout: s.optional(
      s.oneOf(["Reject", "Approve"], { description: "Decision when the time is over; Reject when absent." }),
    ),
  },
  { description: "A person's decision, given by RunActions approve and reject." },
);

/** Only of the same namespace, because rights differ. */
export const TemplateRef = s.object(
  { name: s.string({ minLength: 1, description: "Name of the WorkflowTemplate, in the workflow's namespace." }) },
  {
    description: "The WorkflowTemplate that provides the steps and every field that does not belong to the run itself.",
  },
);

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

/** A path in the container, checked with the Job. */
const artifactPath = (description: string) => s.optional(s.string({ minLength: 1, maxLength: 1024, description }));

/** A file or directory of an earlier step, provided before the start. */
export const InputArtifact = s.object({
  name: s.string({ minLength: 1, description: "Name of the input." }),
  from: s.string({
    minLength: 1,
    description:
      "STEP/ARTIFACT: an artifact of a step this one depends on; of a fan-out those of all items, each below the path by its index, or STEP/ARTIFACT/INDEX.",
  }),
  path: artifactPath("Where it is put, below $SLIPWAY_ARTIFACTS; the name when absent."),
  optional: s.optional(s.boolean({ description: "The step runs even if the artifact does not exist." })),
});

/** A file or directory, stored by digest after success. */
export const OutputArtifact = s.object({
  name: s.string({ minLength: 1, description: "Name for later steps." }),
  path: artifactPath("A file or directory below $SLIPWAY_ARTIFACTS; the name when absent."),
  optional: s.optional(s.boolean({ description: "A missing file does not fail the attempt." })),
  archive: s.optional(
    s.oneOf(["none", "tar.gz"], {
      description:
        "How it is stored: as it is, or packed. When absent files are stored as they are, directories packed.",
    }),
  ),
});

/** Exactly one type; `compile/shape.ts` checks that. */
export const Step = s.object(
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
          "Owned: the object is deleted with the workflow. Independent: it stays. Default: Owned, with Apply Independent.",
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
            description: "Name of a ConcurrencyLimit; if it does not exist, the limit is 1. May contain ${{ }}.",
          }),
        }),
        {
          key: "name",
          maxItems: 16,
          description: "Locks that the step holds, all together, from its first start until it ends.",
        },
      ),
    ),
    priority: priority("Order of starts where slots and locks are short: higher first; the workflow's when absent."),
    inputs: s.optional(
      s.object(
        { artifacts: s.optional(s.list(InputArtifact, { key: "name", description: "Artifacts of earlier steps." })) },
        { description: "Artifacts placed in the step's directory $SLIPWAY_ARTIFACTS before it starts." },
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
