import { age, column, kind, type ObjectOf, type PrinterColumn, s, type TypeOf } from "#lib/schema/index.ts";
import { ApplicationPolicy, ApplicationSpec, ApplicationStatus, Component } from "./schema/application.ts";
import * as definitions from "./schema/definitions.ts";
import { free } from "./schema/fields.ts";
import { ApplicationRevisionSpec, ApplicationRevisionStatus, ResourceTrackerSpec } from "./schema/revision.ts";
import { Mode, Step, Steps } from "./schema/step.ts";
import { Insight } from "./schema/insight.ts";
import { Package } from "./schema/package.ts";
import { Rollout } from "./schema/rollout.ts";
import { SecurityProfile } from "./schema/security-profile.ts";
import { GitPush, HelmTemplate, KustomizePatch } from "./schema/templates.ts";
import { TrafficShift } from "./schema/traffic-shift.ts";
import { WorkflowRunSpec, WorkflowRunStatus } from "./schema/workflow-run.ts";
import type { StepStatus, workflowStatusFields } from "./schema/workflow-status.ts";

// Names, columns and fields are those of KubeVela's definitions, so that clients work unchanged. The short name `wf`
// is left to Slipway's own Workflow.

export const group = "core.oam.dev";

const categories = ["oam"] as const;
const beta = { group, version: "v1beta1", scope: "Namespaced", categories } as const;
const alpha = { ...beta, version: "v1alpha1" } as const;
const description: PrinterColumn = column("DESCRIPTION", ".metadata.annotations.definition\\.oam\\.dev/description");

export const Application = kind({
  ...beta,
  kind: "Application",
  plural: "applications",
  shortNames: ["app", "velaapp"],
  description: "An application: components, policies, and the workflow that delivers them.",
  spec: ApplicationSpec,
  status: ApplicationStatus,
  columns: [
    column("COMPONENT", ".spec.components[*].name"),
    column("TYPE", ".spec.components[*].type"),
    column("PHASE", ".status.status"),
    column("HEALTHY", ".status.services[*].healthy", { type: "boolean" }),
    column("STATUS", ".status.services[*].message"),
    age(),
  ],
});
export type Application = ObjectOf<typeof Application>;

export const ApplicationRevision = kind({
  ...beta,
  kind: "ApplicationRevision",
  plural: "applicationrevisions",
  shortNames: ["apprev"],
  description: "A recorded version of an application, with everything needed to render it.",
  spec: ApplicationRevisionSpec,
  status: ApplicationRevisionStatus,
  columns: [
    column("COMPONENT", ".spec.application.spec.components[*].name"),
    column("PUBLISH_VERSION", ".metadata.annotations['app\\.oam\\.dev\\/publishVersion']"),
    column("SUCCEEDED", ".status.succeeded"),
    age(),
  ],
});
export type ApplicationRevision = ObjectOf<typeof ApplicationRevision>;

export const ComponentDefinition = kind({
  ...beta,
  kind: "ComponentDefinition",
  plural: "componentdefinitions",
  shortNames: ["comp"],
  description: "A type of component.",
  spec: definitions.ComponentDefinitionSpec,
  status: definitions.DefinitionStatus,
  columns: [column("WORKLOAD-KIND", ".spec.workload.definition.kind"), description],
});
export type ComponentDefinition = ObjectOf<typeof ComponentDefinition>;

export const TraitDefinition = kind({
  ...beta,
  kind: "TraitDefinition",
  plural: "traitdefinitions",
  shortNames: ["trait"],
  description: "A type of trait.",
  spec: definitions.TraitDefinitionSpec,
  status: definitions.DefinitionStatus,
  columns: [column("APPLIES-TO", ".spec.appliesToWorkloads"), description],
});
export type TraitDefinition = ObjectOf<typeof TraitDefinition>;

export const PolicyDefinition = kind({
  ...beta,
  kind: "PolicyDefinition",
  plural: "policydefinitions",
  shortNames: ["def-policy"],
  description: "A type of policy.",
  spec: definitions.PolicyDefinitionSpec,
  status: definitions.DefinitionStatus,
  columns: [description, age()],
});
export type PolicyDefinition = ObjectOf<typeof PolicyDefinition>;

export const WorkflowStepDefinition = kind({
  ...beta,
  kind: "WorkflowStepDefinition",
  plural: "workflowstepdefinitions",
  shortNames: ["workflowstep"],
  description: "A type of workflow step.",
  spec: definitions.WorkflowStepDefinitionSpec,
  status: definitions.DefinitionStatus,
  columns: [description, age()],
});
export type WorkflowStepDefinition = ObjectOf<typeof WorkflowStepDefinition>;

export const WorkloadDefinition = kind({
  ...beta,
  kind: "WorkloadDefinition",
  plural: "workloaddefinitions",
  shortNames: ["workload"],
  description: "A type of component in the older form; used if there is no ComponentDefinition of this name.",
  spec: definitions.WorkloadDefinitionSpec,
  status: definitions.DefinitionStatus,
  columns: [column("DEFINITION-NAME", ".spec.definitionRef.name"), description],
});
export type WorkloadDefinition = ObjectOf<typeof WorkloadDefinition>;

export const DefinitionRevision = kind({
  ...beta,
  kind: "DefinitionRevision",
  plural: "definitionrevisions",
  shortNames: ["defrev"],
  description: "A recorded version of a definition; NAME@vN refers to it.",
  spec: definitions.DefinitionRevisionSpec,
  columns: [
    column("REVISION", ".spec.revision", { type: "integer" }),
    column("HASH", ".spec.revisionHash"),
    column("TYPE", ".spec.definitionType"),
    age(),
  ],
});
export type DefinitionRevision = ObjectOf<typeof DefinitionRevision>;

export const ResourceTracker = kind({
  ...beta,
  scope: "Cluster",
  kind: "ResourceTracker",
  plural: "resourcetrackers",
  shortNames: ["rt"],
  description: "The objects that an application applied.",
  spec: ResourceTrackerSpec,
  status: s.anyObject({ description: "Unused." }),
  columns: [
    column("TYPE", ".spec.type"),
    column("APP", ".metadata.labels['app\\.oam\\.dev\\/name']"),
    column("APP-NS", ".metadata.labels['app\\.oam\\.dev\\/namespace']"),
    column("APP-GEN", ".spec.applicationGeneration", { type: "number" }),
  ],
});
export type ResourceTracker = ObjectOf<typeof ResourceTracker>;

export const WorkflowRun = kind({
  ...alpha,
  kind: "WorkflowRun",
  plural: "workflowruns",
  shortNames: ["wr"],
  description: "One run of a workflow without an application.",
  spec: WorkflowRunSpec,
  status: WorkflowRunStatus,
  columns: [column("PHASE", ".status.status"), age()],
});
export type WorkflowRun = ObjectOf<typeof WorkflowRun>;

export const Workflow = kind({
  ...alpha,
  kind: "Workflow",
  plural: "workflows",
  description: "Steps that applications and runs refer to.",
  fields: { mode: Mode, steps: Steps },
  columns: [age()],
});
export type Workflow = ObjectOf<typeof Workflow>;

export const Policy = kind({
  ...alpha,
  kind: "Policy",
  plural: "policies",
  description: "A policy that applications refer to.",
  fields: {
    type: s.string({ description: "Name of a PolicyDefinition, or a built-in type." }),
    properties: free("Parameter of the definition."),
  },
  columns: [column("TYPE", ".type"), age()],
});
export type Policy = ObjectOf<typeof Policy>;

export { GitPush, HelmTemplate, Insight, KustomizePatch, Package, Rollout, SecurityProfile, TrafficShift };

export const kinds = [
  Application,
  ApplicationRevision,
  ComponentDefinition,
  TraitDefinition,
  PolicyDefinition,
  WorkflowStepDefinition,
  WorkloadDefinition,
  DefinitionRevision,
  ResourceTracker,
  WorkflowRun,
  Workflow,
  Policy,
  Package,
  Rollout,
  TrafficShift,
  Insight,
  SecurityProfile,
  HelmTemplate,
  KustomizePatch,
  GitPush,
] as const;

export type ApplicationStatus = TypeOf<typeof ApplicationStatus>;
export type ApplicationWorkflowStatus = NonNullable<ApplicationStatus["workflow"]>;
export type ServiceStatus = NonNullable<ApplicationStatus["services"]>[number];
export type AppliedResource = NonNullable<ApplicationStatus["appliedResources"]>[number];
export type WorkflowRunStatus = TypeOf<typeof WorkflowRunStatus>;
export type StepStatus = TypeOf<typeof StepStatus>;
export type SubStepStatus = NonNullable<StepStatus["subSteps"]>[number];
/** What Applications and WorkflowRuns have in common. */
export type WorkflowStatusFields = { readonly [K in keyof typeof workflowStatusFields]?: WorkflowRunStatus[K] };
export type ComponentSpec = TypeOf<typeof Component>;
export type PolicySpec = TypeOf<typeof ApplicationPolicy>;
export type StepSpec = TypeOf<typeof Step>;
export type ManagedResource = NonNullable<TypeOf<typeof ResourceTrackerSpec>["managedResources"]>[number];
