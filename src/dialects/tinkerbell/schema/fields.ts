import { type Shape, s } from "#lib/schema/index.ts";

export const text = (description?: string) => s.optional(s.string(description === undefined ? {} : { description }));
export const texts = (description?: string) =>
  s.optional(s.list(s.string(), description === undefined ? {} : { description }));
export const flag = (description?: string) => s.optional(s.boolean(description === undefined ? {} : { description }));
export const whole = (description?: string) =>
  s.optional(s.integer({ minimum: 0, ...(description === undefined ? {} : { description }) }));
export const instant = (description?: string) => s.optional(s.time(description === undefined ? {} : { description }));
export const environment = (description?: string) =>
  s.optional(s.map(s.string(), description === undefined ? {} : { description }));

/** Keeps undeclared members: published documents have more fields than are listed. */
export const open = <const F extends Readonly<Record<string, Shape>>>(fields: F, description?: string) =>
  s.object(fields, { preserveUnknown: true, ...(description === undefined ? {} : { description }) });

/** The name of another object, where v1alpha2 has an object: clusters prune objects to the stored version. */
export const name = (description: string) => s.optional(s.string({ preserveUnknown: true, description }));

export const reference = (description: string) =>
  s.object({ name: s.string({ description: "Its name." }) }, { description });
