import { age, column, kind, type ObjectOf, s, type TypeOf } from "#lib/schema/index.ts";

/** With names besides the uid, because the Workflow may be gone when its result is used. */
const Origin = s.object(
  {
    workflow: s.string({ description: "Name of the Workflow." }),
    uid: s.string({ description: "Uid of the Workflow; another Workflow of the same name has another uid." }),
    step: s.string({ description: "Key of the step." }),
    item: s.optional(s.integer({ description: "Index of the item, of a fan-out." })),
  },
  { description: "The step that ran." },
);

/** Immutable, without a status. Of the inputs only what people may see is kept. */
const Spec = s.object({
  from: Origin,
  storedTime: s.time({ description: "When it was stored: its age counts from here." }),
  key: s.optional(s.string({ description: "The key the step has given; cut after 256 characters." })),
  inputs: s.map(s.string(), {
    description: "The inputs of the step, by field; long or possibly secret values are digests. At most 256 fields.",
  }),
  outputs: s.optional(s.anyObject({ description: "Outputs of the step." })),
  artifacts: s.optional(
    s.anyObject({
      description: "Digest and size of the files it has left, by name; they are kept as long as this is.",
    }),
  ),
  writtenBy: s.optional(
    s.string({
      description: "Set by the server if a user and not a controller wrote it; such an entry is never used.",
    }),
  ),
});

/** The result of a step; its name is a hash of the inputs. Immutable: a newer result replaces the object. */
export const CacheEntry = kind({
  group: "slipway.dev",
  version: "v1alpha1",
  kind: "CacheEntry",
  plural: "cacheentries",
  scope: "Namespaced",
  shortNames: ["ce"],
  categories: ["slipway"],
  description: "The result of a step with a cache. Written by controllers; deleting it makes the step run again.",
  spec: Spec,
  columns: [
    column("Workflow", ".spec.from.workflow"),
    column("Step", ".spec.from.step"),
    column("Key", ".spec.key", { priority: 1 }),
    age(),
  ],
});
export type CacheEntry = ObjectOf<typeof CacheEntry>;
export type CacheEntrySpec = TypeOf<typeof Spec>;
