import { age, column, kind, type ObjectOf, s, type TypeOf } from "#lib/schema/index.ts";
import { Workflow } from "../kinds.ts";

/** Holders are in the status, which must stay small. */
export const mostHolders = 1_000;

const Holder = s.object(
  {
    uid: s.string({ description: "Uid of the Workflow." }),
    name: s.string({ description: "Name of the Workflow." }),
    runNumber: s.integer({ description: "Run of the Workflow that holds it; a retry is another run." }),
    step: s.optional(s.string({ description: "Step that holds it; absent where the whole Workflow does." })),
    item: s.optional(s.integer({ description: "Index of the item that holds it, where the step fans out." })),
    since: s.time({ description: "When it was taken." }),
  },
  { description: "Who holds one place." },
);

/** A named semaphore of a namespace. A holder is recorded before its step starts. */
export const ConcurrencyLimit = kind({
  group: Workflow.group,
  version: Workflow.version,
  kind: "ConcurrencyLimit",
  plural: "concurrencylimits",
  scope: "Namespaced",
  shortNames: ["cl"],
  categories: ["slipway"],
  description: "A named semaphore: how many steps or Workflows of the namespace may hold it at once.",
  spec: s.object({
    limit: s.integer({
      minimum: 1,
      maximum: mostHolders,
      description: "Maximum number of holders. Lowering it does not release current holders.",
    }),
    description: s.optional(s.string({ description: "Explanation for people." })),
  }),
  status: s.object({
    holders: s.optional(s.list(Holder, { description: "Current holders, oldest first." })),
    held: s.optional(s.integer({ description: "How many hold it." })),
    lastReleaseTime: s.optional(s.time({ description: "When it was last given back." })),
  }),
  columns: [
    column("Limit", ".spec.limit", { type: "integer" }),
    column("Held", ".status.held", { type: "integer" }),
    column("Holders", ".status.holders[*].name", { priority: 1 }),
    age(),
  ],
});
export type ConcurrencyLimit = ObjectOf<typeof ConcurrencyLimit>;
export type Holder = TypeOf<typeof Holder>;

/** Keeps a deleted limit until nothing holds it. */
export const limitFinalizer = "slipway.dev/holders";

/** On limits created on first use, deleted after a time without use. */
export const implicitLabel = "slipway.dev/implicit";
