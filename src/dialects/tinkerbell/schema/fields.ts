import { type Shape, s } from "#lib/schema/index.ts";

/** A text that may be absent. */
export const text = (description?: string) => s.optional(s.string(description === undefined ? {} : { description }));
/** A list of texts that may be absent. */
export const texts = (description?: string) =>
  s.optional(s.list(s.string(), description === undefined ? {} : { description }));
/** True, false, or not said. */
export const flag = (description?: string) => s.optional(s.boolean(description === undefined ? {} : { description }));
/** A number without a fraction, 0 or more. */
export const whole = (description?: string) =>
  s.optional(s.integer({ minimum: 0, ...(description === undefined ? {} : { description }) }));
/** An RFC 3339 time. */
export const instant = (description?: string) => s.optional(s.time(description === undefined ? {} : { description }));
/** Variables by name; values are texts. */
export const environment = (description?: string) =>
  s.optional(s.map(s.string(), description === undefined ? {} : { description }));

/** An object whose undeclared members are kept: published documents have more than any list of fields knows. */
export const open = <const F extends Readonly<Record<string, Shape>>>(fields: F, description?: string) =>
  s.object(fields, { preserveUnknown: true, ...(description === undefined ? {} : { description }) });

/**
 * The name of another object of the same namespace, where v1alpha2 has an object. What is in that must be known here: clusters keep of an object what
 * the version knows in which it is stored.
 */
export const name = (description: string) => s.optional(s.string({ preserveUnknown: true, description }));

/** Another object of the same namespace. */
export const reference = (description: string) =>
  s.object({ name: s.string({ description: "Its name." }) }, { description });
