import { age, column, kind, type ObjectOf, s } from "#lib/schema/index.ts";

/** A Kubernetes ObjectReference. */
const target = s.object(
  {
    apiVersion: s.optional(s.string({ description: "Group and version of the referenced kind." })),
    kind: s.optional(s.string({ description: "Kind of the referenced object." })),
    namespace: s.optional(s.string({ description: "The action's own namespace when absent." })),
    name: s.optional(s.string({ description: "Name of the referenced object." })),
    uid: s.optional(s.string({ description: "Matches only the object with this uid." })),
    resourceVersion: s.optional(s.string({ description: "Accepted and ignored." })),
    fieldPath: s.optional(s.string({ description: "Accepted and ignored." })),
  },
  { description: "The run to act on.", atomic: true },
);

export const RunAction = kind({
  group: "slipway.dev",
  version: "v1alpha1",
  kind: "RunAction",
  plural: "runactions",
  scope: "Namespaced",
  shortNames: ["ra"],
  categories: ["slipway"],
  description: "A command to a run: cancel, suspend, resume, retry, approve, reject or skip.",
  spec: s.object({
    target,
    action: s.oneOf(["cancel", "suspend", "resume", "retry", "approve", "reject", "skip"], {
      description: "What to do. resume approves a step that waits for approval.",
    }),
    step: s.optional(s.string({ description: "Act on this step only." })),
    steps: s.optional(s.list(s.string(), { description: "retry: these steps and their descendants." })),
    fromFailed: s.optional(s.boolean({ description: "retry: start with the first step that did not succeed." })),
    values: s.optional(s.anyObject({ description: "Inputs of an approval." })),
    force: s.optional(s.boolean({ description: "cancel: skip the final steps." })),
    reason: s.optional(s.string({ description: "Reason, for people." })),
  }),
  status: s.object({
    phase: s.optional(s.oneOf("Accepted", "Done", "Refused")),
    message: s.optional(s.string()),
    by: s.optional(s.string({ description: "Who acted." })),
    groups: s.optional(s.list(s.string(), { description: "Groups of who acted." })),
    runNumber: s.optional(s.integer({ description: "Number of the run that the action was accepted for." })),
    createdRun: s.optional(s.string({ description: "Name of the run that the action created." })),
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
