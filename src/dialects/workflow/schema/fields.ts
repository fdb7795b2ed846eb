import { s } from "#lib/schema/index.ts";

/** A field of a later version, kept so that it is refused by name and not dropped. */
export const reserved = (what: string) => s.optional(s.any({ description: `${what} Refused by this version.` }));

/** A bare CEL expression, compiled by `compile/expressions.ts`. */
export const expression = (description: string) => s.optional(s.string({ minLength: 1, description }));
/** From 1; `validate.ts` has the message. */
export const positive = (description: string) => s.optional(s.integer({ minimum: 1, description }));

/** Within one queue. */
export const priority = (description: string) =>
  s.optional(s.integer({ minimum: -1_000, maximum: 1_000, description }));

/** A Kubernetes ObjectReference; the place decides which fields are required. */
export const referenceFields = {
  apiVersion: s.optional(s.string({ description: "Group and version of the referenced kind." })),
  kind: s.optional(s.string({ description: "Kind of the referenced object." })),
  namespace: s.optional(s.string({ description: "The workflow's own namespace when absent." })),
  name: s.optional(s.string({ description: "Name of the referenced object." })),
  uid: s.optional(s.string({ description: "Exactly this object, not another of its name." })),
  resourceVersion: s.optional(s.string({ description: "Accepted and ignored." })),
  fieldPath: s.optional(s.string({ description: "Accepted and ignored." })),
};
export const reference = (description: string) => s.object(referenceFields, { description, atomic: true });
