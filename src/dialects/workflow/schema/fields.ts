import { s } from "#lib/schema/index.ts";

// What fields of several parts of the language are made with.

/**
 * A field of the language that this version does not carry: the schema keeps it, so that the field is refused by name
 * instead of dropped in silence, and a document of a later version is told what it asks for too early.
 */
export const reserved = (what: string) => s.optional(s.any({ description: `${what} Refused by this version.` }));

/** A CEL expression, bare. It is compiled by `compile/expressions.ts`; the schema only knows that it is a text. */
export const expression = (description: string) => s.optional(s.string({ minLength: 1, description }));
/** A whole number from 1 on; `validate.ts` has the message. */
export const positive = (description: string) => s.optional(s.integer({ minimum: 1, description }));

/** Within one queue; a queue that is empty has no order. */
export const priority = (description: string) =>
  s.optional(s.integer({ minimum: -1_000, maximum: 1_000, description }));

/** A Kubernetes ObjectReference; which of its fields are needed depends on where it stands. */
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
