import { age, column, kind, type ObjectOf, s, type TypeOf } from "#lib/schema/index.ts";
import { flag, text } from "./fields.ts";
import { conditions, count, observedGeneration, percentage, useCase } from "./use-case.ts";

/** A component's two workloads. */
const RolledComponent = s.object({
  name: s.string({ minLength: 1, description: "Name of the component." }),
  apiVersion: s.string({ description: "Shared by both workloads." }),
  kind: s.string({ description: "Shared by both workloads." }),
  replicas: s.integer({ minimum: 0, description: "Replicas of the component outside of a rollout." }),
  newWorkload: s.string({ description: "Workload of the new revision." }),
  newRevision: text("Value of the label app.oam.dev/revision of the new workload and its Pods."),
  oldWorkload: text("Workload of the old revision; absent if there is nothing to roll."),
  oldRevision: text("Value of the label app.oam.dev/revision of the old workload, if it has one."),
});
export type RolledComponent = TypeOf<typeof RolledComponent>;

const RolloutSpec = s.object({
  application: s.string({ minLength: 1, description: "Name of the application." }),
  newRevision: s.string({ description: "The ApplicationRevision that is rolled out." }),
  oldRevision: text("The ApplicationRevision that it replaces; absent for the first one."),
  partition: percentage("Share of the replicas that run the new revision before promotion."),
  surge: percentage("Replicas above the wanted number during the rollout; default 0."),
  components: s.list(RolledComponent, { key: "name", description: "The components that are rolled out." }),
});
export type RolloutSpec = TypeOf<typeof RolloutSpec>;

export const rolloutPhases = [
  "rolling",
  "rolled",
  "paused",
  "promoting",
  "succeeded",
  "rollingBack",
  "rolledBack",
] as const;
export type RolloutPhase = (typeof rolloutPhases)[number];

/** Lenient where people edit: `pause` and `approved`. */
const RolloutStatus = s.object(
  {
    observedGeneration,
    phase: s.optional(s.oneOf(rolloutPhases, { description: "Progress of the rollout." })),
    revision: text("The new revision that the status describes; decisions about another one do not count."),
    pause: flag("The rollout waits for approval. Set it to false to approve."),
    approved: flag("The decision: true promotes the new revision, false rolls back."),
    pausedTime: s.optional(s.time({ description: "Start of the wait for approval." })),
    message: text("Progress or outcome, for people."),
    newReplicas: count("Replicas of the new revision."),
    oldReplicas: count("Replicas of the old revision."),
    conditions,
  },
  { preserveUnknown: true },
);
export type RolloutStatus = TypeOf<typeof RolloutStatus>;

export const Rollout = kind({
  ...useCase,
  kind: "Rollout",
  plural: "rollouts",
  description: "A blue-green rollout of an application's components from one revision to the next.",
  spec: RolloutSpec,
  status: RolloutStatus,
  columns: [
    column("New", ".spec.newRevision"),
    column("Old", ".spec.oldRevision"),
    column("Partition", ".spec.partition"),
    column("Phase", ".status.phase"),
    column("Paused", ".status.pause", { type: "boolean" }),
    age(),
  ],
});
export type Rollout = ObjectOf<typeof Rollout>;
