import { isTerminal } from "#engine/index.ts";
import { age, column, kind, type ObjectOf, type TypeOf } from "#lib/schema/index.ts";
import { Approval, ForEach, InputArtifact, Output, OutputArtifact, Param, Retry, Step } from "./schema/step.ts";
import { Spec } from "./schema/spec.ts";
import { ArtifactStatus, ChildReference, Condition, Items, Status, StepStatus } from "./schema/status.ts";

const group = "slipway.dev";
const version = "v1alpha1";

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
export type ChildReference = TypeOf<typeof ChildReference>;

/** Only a retry can move it. */
export const isFinished = ({ status }: Workflow): boolean => status?.phase !== undefined && isTerminal(status.phase);
