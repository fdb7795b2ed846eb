import { s } from "#lib/schema/index.ts";
import { Compression, count, flag, free, referenceFields, text, texts } from "./fields.ts";
import { workflowStatusFields } from "./workflow-status.ts";

const objects = (what: string) => s.optional(s.map(s.anyObject(), { description: what }));

export const ApplicationRevisionSpec = s.object({
  application: s.anyObject({ description: "The application of this revision, without its status." }),
  componentDefinitions: objects("Definitions of its components, by name."),
  traitDefinitions: objects("Definitions of its traits, by name."),
  policyDefinitions: objects("Definitions of its policies, by name."),
  workflowStepDefinitions: objects("Definitions of its steps, by name."),
  workloadDefinitions: objects("Old definitions of its components, by name."),
  policies: objects("Policies that it refers to, by name."),
  policyVersions: objects("Accepted and ignored."),
  workflow: free("The Workflow that it refers to."),
  referredObjects: s.optional(s.list(s.anyObject(), { description: "Objects that its components refer to." })),
  resourcesConfigMap: s.optional(
    s.object(
      {
        name: s.string({ description: "Name of the ConfigMap." }),
        shards: texts("Names of all ConfigMaps, if there are several."),
      },
      { description: "The ConfigMap of rendered objects." },
    ),
  ),
  compression: Compression,
});

export const ApplicationRevisionStatus = s.object({
  succeeded: flag("Its workflow succeeded."),
  resourcesDigest: text("Digest of the rendered objects."),
  workflow: s.optional(
    s.object(
      { ...workflowStatusFields, appRevision: text("Revision."), mode: text("Order of steps and sub-steps.") },
      { description: "The final state of its workflow." },
    ),
  ),
  workflowContext: s.optional(s.map(s.string(), { description: "The variables of its workflow." })),
});

export const ResourceTrackerSpec = s.object({
  type: text("root, versioned or component-revision."),
  applicationGeneration: count("Generation of the application that applied the objects."),
  managedResources: s.optional(
    s.list(
      s.object({
        ...referenceFields,
        cluster: text("Cluster of the object."),
        creator: text("policy or workflow."),
        component: text("Component of the object."),
        trait: text("Trait of the object."),
        role: text("WORKLOAD, TRAIT or POLICY."),
        resource: text("Name among the outputs of its template."),
        replicaKey: text("Copy of the component that it belongs to."),
        key: text("Key among the rendered objects of the revision."),
        stage: text("When the trait is dispatched."),
        run: text("Start of the run of the workflow that applied it last."),
        deleted: flag("It is to be deleted."),
        skipGC: flag("It is not deleted."),
        raw: free("The object as it was applied."),
      }),
      { description: "Objects that the application applied." },
    ),
  ),
  compression: Compression,
});
