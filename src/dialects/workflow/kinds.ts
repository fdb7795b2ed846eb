import { age, column, kind, type ObjectOf, s, type TypeOf } from "#lib/schema/index.ts";
import { reference } from "./schema/fields.ts";
import { Approval, ForEach, InputArtifact, Output, OutputArtifact, Param, Retry, Step } from "./schema/step.ts";
import { Spec } from "./schema/spec.ts";
import { ArtifactStatus, ChildReference, Condition, Items, Status, StepStatus } from "./schema/status.ts";

const group = "slipway.dev";
const version = "v1alpha1";

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
// Types of the parts, for whoever works on one of them.

export type WorkflowSpec = TypeOf<typeof Spec>;
/** One step as it is written. */
export type WorkflowStep = TypeOf<typeof Step>;
export type WorkflowStatus = TypeOf<typeof Status>;
/** What a status says of one step. */
export type StepStatus = TypeOf<typeof StepStatus>;
export type WorkflowCondition = TypeOf<typeof Condition>;
export type Param = TypeOf<typeof Param>;
export type RetrySpec = TypeOf<typeof Retry>;
export type StepOutput = TypeOf<typeof Output>;
export type ArtifactStatus = TypeOf<typeof ArtifactStatus>;
export type InputArtifact = TypeOf<typeof InputArtifact>;
export type OutputArtifact = TypeOf<typeof OutputArtifact>;
export type ForEach = TypeOf<typeof ForEach>;
/** The items of a fan-out, run-length coded. */
export type ItemsStatus = TypeOf<typeof Items>;
export type Approval = TypeOf<typeof Approval>;
export type Approver = NonNullable<Approval["approvers"]>[number];
/** An object that a step waits for. */
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
