import { s } from "#lib/schema/index.ts";

export const text = (description: string) => s.optional(s.string({ description }));
export const texts = (description: string) => s.optional(s.list(s.string(), { description }));
export const flag = (description: string) => s.optional(s.boolean({ description }));
export const count = (description: string) => s.optional(s.integer({ description }));
export const instant = (description: string) => s.optional(s.time({ description }));
/** Any members, kept as they are. */
export const free = (description: string) => s.optional(s.anyObject({ description }));

/** A Kubernetes ObjectReference. */
export const referenceFields = {
  apiVersion: text("Group and version of the kind."),
  kind: text("Kind of the object."),
  namespace: text("Namespace of the object."),
  name: text("Name of the object."),
  uid: text("Unique id of the object."),
  resourceVersion: text("Version of the object."),
  fieldPath: text("Part of the object."),
};

export const Conditions = s.optional(
  s.list(
    s.object({
      type: s.string({ description: "What the condition is about." }),
      status: s.string({ description: "True, False or Unknown." }),
      reason: s.optional(s.string({ description: "One word for programs." })),
      message: text("An explanation for people."),
      lastTransitionTime: s.optional(s.time({ description: "When the status changed." })),
      observedGeneration: count("The generation that was judged."),
    }),
    { description: "Facts about the object." },
  ),
);

export const LatestRevision = s.optional(
  s.object(
    {
      name: s.string({ description: "Name of the revision." }),
      revision: s.integer({ description: "Number of the revision." }),
      revisionHash: text("Hash of what the revision holds."),
    },
    { description: "The newest revision." },
  ),
);

/** An apiVersion and kind. */
export const kindFields = {
  apiVersion: s.string({ description: "Group and version." }),
  kind: s.string({ description: "Kind." }),
};

export const Compression = s.optional(
  s.object(
    { type: text("Empty, gzip or zstd."), data: text("The compressed content in base64.") },
    { description: "Compressed content instead of the fields." },
  ),
);

/** What a controller does has the rights of all of them; see `writersOf`. */
export const ActsFor = s.optional(
  s.list(s.object({ user: s.string(), groups: s.list(s.string()) }), {
    description:
      "Users who wrote what the object refers to, except administrators; it does only what all of them may do.",
  }),
);
