import { s } from "#lib/schema/index.ts";
import {
  ActsFor,
  Conditions,
  count,
  flag,
  free,
  instant,
  kindFields,
  LatestRevision,
  referenceFields,
  text,
  texts,
} from "./fields.ts";
import { Inputs, Mode, Outputs, Steps } from "./step.ts";
import { workflowStatusFields } from "./workflow-status.ts";

export const Component = s.object({
  name: s.string({ description: "Unique name." }),
  type: s.string({ description: "Name of a ComponentDefinition." }),
  properties: free("Parameter of the definition."),
  traits: s.optional(
    s.list(
      s.object({
        type: s.string({ description: "Name of a TraitDefinition." }),
        properties: free("Parameter of the definition."),
      }),
      { description: "Operational behaviour, applied in order." },
    ),
  ),
  dependsOn: texts("Names of components that are applied before this one."),
  inputs: Inputs,
  outputs: Outputs,
  externalRevision: text("Name of the component's revision, instead of a hash."),
  scopes: s.optional(s.map(s.string(), { description: "Accepted and ignored." })),
});

export const ApplicationPolicy = s.object({
  name: text("Unique name; default: TYPE-auto-gen-INDEX."),
  type: s.string({ description: "Name of a PolicyDefinition, or a built-in type." }),
  properties: free("Parameter of the definition."),
});

export const ApplicationSpec = s.object({
  components: s.optional(s.list(Component, { description: "Parts that the application consists of." })),
  policies: s.optional(s.list(ApplicationPolicy, { description: "Rules for the whole application." })),
  workflow: s.optional(
    s.object(
      {
        ref: text("Name of a Workflow in the namespace, instead of steps."),
        mode: Mode,
        steps: Steps,
      },
      { description: "How the application is delivered; default: components in the order of their dependencies." },
    ),
  ),
});

const details = s.optional(s.map(s.string(), { description: "Facts that the definition reports." }));

const Service = s.object({
  name: text("Name of the component."),
  namespace: text("Namespace it is applied to."),
  cluster: text("Cluster it is applied to."),
  env: text("Environment it is applied to."),
  workloadDefinition: s.optional(s.object(kindFields, { description: "Kind of the workload." })),
  healthy: flag("Whether workload and traits are healthy."),
  workloadHealthy: flag("Whether the workload is healthy."),
  message: text("An explanation for people."),
  details,
  traits: s.optional(
    s.list(
      s.object({
        type: s.string({ description: "Type of the trait." }),
        healthy: flag("Whether its objects are healthy."),
        pending: flag("It is applied later."),
        message: text("An explanation for people."),
        details,
      }),
      { description: "Health of the traits." },
    ),
  ),
  scopes: s.optional(s.list(s.object(referenceFields), { description: "Accepted and ignored." })),
});

export const ApplicationStatus = s.object({
  status: text("Phase of the application."),
  phase: text("Always equal to status."),
  conditions: Conditions,
  observedGeneration: count("The generation that was reconciled."),
  latestRevision: LatestRevision,
  components: s.optional(s.list(s.object(referenceFields), { description: "Accepted and ignored." })),
  services: s.optional(s.list(Service, { description: "Health of the components." })),
  appliedResources: s.optional(
    s.list(s.object({ ...referenceFields, cluster: text("Cluster."), creator: text("policy or workflow.") }), {
      description: "Objects that the application applied.",
    }),
  ),
  policy: s.optional(
    s.list(
      s.object({
        name: s.string({ description: "Name of the policy." }),
        type: s.string({ description: "Type of the policy." }),
        status: free("Facts about the policy."),
      }),
      { description: "Facts about policies." },
    ),
  ),
  workflow: s.optional(
    s.object(
      {
        ...workflowStatusFields,
        appRevision: text("Revision, or publishVersion, that this run delivers."),
        mode: text("Order of steps and sub-steps: StepByStep-DAG."),
      },
      { description: "The latest run; empty it to restart." },
    ),
  ),
  workflowRestartScheduledAt: instant("When the workflow restarts."),
  preRendered: text("Digest of the application that steps before rendering have computed."),
  actsFor: ActsFor,
});
