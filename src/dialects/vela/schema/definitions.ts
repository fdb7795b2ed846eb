import { s } from "#lib/schema/index.ts";
import { Conditions, count, flag, free, kindFields, LatestRevision, text, texts } from "./fields.ts";

const Schematic = s.optional(
  s.object(
    {
      cue: s.optional(
        s.object({ template: s.string({ description: "The template." }) }, { description: "A CUE template." }),
      ),
      terraform: free("Accepted, not supported."),
      helm: free("Accepted, not supported."),
      kube: free("Accepted, not supported."),
    },
    { description: "How the definition is rendered." },
  ),
);

const Status = s.optional(
  s.object(
    {
      customStatus: text("CUE text that sets message."),
      healthPolicy: text("CUE text that sets isHealth."),
      details: text("CUE text whose fields are shown as details."),
    },
    { description: "Rules for health and status messages." },
  ),
);

const DefinitionRef = s.optional(
  s.object(
    {
      name: s.string({ description: "Name of the CustomResourceDefinition." }),
      version: text("Version of the kind."),
    },
    { description: "The kind that the definition creates." },
  ),
);

const ChildResourceKinds = s.optional(
  s.list(
    s.object({ ...kindFields, selector: s.optional(s.map(s.string(), { description: "Labels of the objects." })) }),
    { description: "Kinds of objects that the workload creates." },
  ),
);

const version = text("Semantic version of the definition.");
const extension = free("Settings of other programs.");
const podSpecPath = text("Path of the Pod's specification in the workload.");
const revisionLabel = text("Label that holds the component's revision.");

export const ComponentDefinitionSpec = s.object({
  workload: s.optional(
    s.object(
      {
        type: text("Name of a WorkloadDefinition, or autodetects.core.oam.dev."),
        definition: s.optional(s.object(kindFields, { description: "Kind of the workload." })),
      },
      { description: "The workload of a component." },
    ),
  ),
  podSpecPath,
  revisionLabel,
  childResourceKinds: ChildResourceKinds,
  status: Status,
  schematic: Schematic,
  extension,
  version,
});

export const TraitDefinitionSpec = s.object({
  appliesToWorkloads: texts("Kinds, definitions or * that the trait may be used with."),
  conflictsWith: texts("Traits that exclude this one."),
  podDisruptive: flag("Changes restart Pods."),
  workloadRefPath: text("Path that receives a reference to the workload."),
  manageWorkload: flag("The trait applies the workload."),
  controlPlaneOnly: flag("Objects are applied to the control plane only."),
  stage: s.optional(
    s.oneOf(["PreDispatch", "DefaultDispatch", "PostDispatch"], {
      description: "When objects are applied, relative to the workload.",
    }),
  ),
  revisionEnabled: flag("Accepted and ignored."),
  definitionRef: DefinitionRef,
  status: Status,
  schematic: Schematic,
  extension,
  version,
});

export const PolicyDefinitionSpec = s.object({
  definitionRef: DefinitionRef,
  manageHealthCheck: flag("Accepted and ignored."),
  global: flag("Accepted and ignored."),
  priority: count("Accepted and ignored."),
  scope: text("Accepted and ignored."),
  schematic: Schematic,
  version,
});

export const WorkflowStepDefinitionSpec = s.object({
  definitionRef: DefinitionRef,
  schematic: Schematic,
  version,
});

export const WorkloadDefinitionSpec = s.object({
  definitionRef: DefinitionRef,
  childResourceKinds: ChildResourceKinds,
  podSpecPath,
  revisionLabel,
  status: Status,
  schematic: Schematic,
  extension,
});

export const DefinitionStatus = s.object({
  conditions: Conditions,
  observedGeneration: count("The generation that was checked."),
  configMapRef: text("ConfigMap with the schema of the parameter."),
  latestRevision: LatestRevision,
});

const snapshot = (kind: string) => s.optional(s.anyObject({ description: `The ${kind} of this revision.` }));

export const DefinitionRevisionSpec = s.object({
  revision: s.integer({ description: "Number of the revision." }),
  revisionHash: s.string({ description: "Hash of the definition's spec." }),
  definitionType: s.oneOf(["Component", "Trait", "Policy", "WorkflowStep"], { description: "Which field is set." }),
  componentDefinition: snapshot("ComponentDefinition"),
  traitDefinition: snapshot("TraitDefinition"),
  policyDefinition: snapshot("PolicyDefinition"),
  workflowStepDefinition: snapshot("WorkflowStepDefinition"),
});
