import { s } from "#lib/schema/index.ts";
import { Conditions, count, flag, free, instant, text, texts } from "./fields.ts";

// Objects that steps and policies create and controllers act on. A step reads their condition `workflow-progress`.

const open = { preserveUnknown: true } as const;
const progress = {
  phase: text("Phase for people."),
  message: text("An explanation for people."),
  observedGeneration: count("The generation that was reconciled."),
  conditions: Conditions,
};
const partition = s.optional(s.intOrString({ description: "Share of the new revision: 50% or a number." }));

export const RolloutSpec = s.object(
  {
    app: text("Name of the application."),
    components: texts("Names of components; default: all."),
    sourceRevision: text("Revision that is replaced; default: the latest that succeeded."),
    targetRevision: text("Revision that replaces it."),
    partition,
    surge: s.optional(s.intOrString({ description: "Replicas beyond the wanted number." })),
    manualApproval: flag("It waits for a person."),
    rollbackIfNotApproved: flag("A rejection or timeout restores the old revision."),
    approvalTimeout: text("Longest time to wait for a person; default: 24h."),
  },
  open,
);
export const RolloutStatus = s.object(
  {
    ...progress,
    pause: flag("It waits; unset it to approve."),
    approved: flag("The decision of a person."),
    approvalTime: instant("When it was decided."),
    deadline: instant("When it counts as rejected."),
    replicas: s.optional(
      s.object(
        { old: count("Of the old revision."), new: count("Of the new revision.") },
        { description: "Replicas." },
      ),
    ),
  },
  open,
);

export const TrafficShiftSpec = s.object(
  {
    app: text("Name of the application."),
    components: texts("Names of components; default: all."),
    sourceRevision: text("Revision that traffic is taken from."),
    targetRevision: text("Revision that traffic is sent to."),
    partition,
    route: text("Name of an HTTPRoute, Ingress or Service; default: that of the component."),
  },
  open,
);

export const InsightSpec = s.object(
  {
    app: text("Name of the application."),
    leadTime: text("enabled or disabled."),
    frequency: text("enabled or disabled."),
    mttr: text("enabled or disabled."),
    window: text("Time that is looked at; default: 90d."),
  },
  open,
);
const percentiles = (description: string) =>
  s.optional(s.object({ p50: s.optional(s.number()), p90: s.optional(s.number()) }, { description }));
export const InsightStatus = s.object(
  {
    ...progress,
    leadTimeSeconds: percentiles("From a change to its delivery."),
    deploysPerWeek: s.optional(s.number({ description: "Deliveries per week." })),
    mttrSeconds: percentiles("From a failure to the next success."),
    changeFailureRate: s.optional(s.number({ description: "Share of failed deliveries." })),
  },
  open,
);

export const SecurityProfileSpec = s.object(
  {
    app: text("Name of the application."),
    rbac: text("enabled or disabled."),
    audit: text("enabled or disabled."),
    secretBackend: text("kubernetes or vault."),
    serviceAccount: text("The account that the workflow runs as."),
  },
  open,
);

const sourceFields = {
  app: text("Name of the application."),
  source: text("Git URL, local path or archive URL."),
  path: text("Folder in the source."),
  revision: text("Branch, tag or commit."),
};
export const HelmTemplateSpec = s.object(
  { ...sourceFields, parameters: free("Values of the chart."), release: free("Name and namespace of the release.") },
  open,
);
export const KustomizePatchSpec = s.object({ ...sourceFields, patch: free("Merged into the application.") }, open);

export const GitPushSpec = s.object(
  {
    app: text("Name of the application."),
    gitRepo: text("URL of the repository."),
    branch: text("Branch to push to."),
    path: text("Folder in the repository."),
    credentials: free("Credentials, usually a reference to a Secret."),
    message: text("Commit message."),
  },
  open,
);
export const GitPushStatus = s.object(
  { ...progress, commit: text("Commit that was pushed."), changed: flag("Whether files changed.") },
  open,
);
export const ProgressStatus = s.object(progress, open);
