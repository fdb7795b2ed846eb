import { type Shape, s } from "#lib/schema/index.ts";

export const text = (description: string) => s.optional(s.string({ description }));
export const whole = (description: string) => s.optional(s.integer({ minimum: 0, description }));
/** The bound leaves room above any chosen number. */
export const highestNumber = 1_000_000_000_000;
export const number = s.optional(
  s.integer({
    minimum: 1,
    maximum: highestNumber,
    description: "Number in the REST API; assigned by the controller if absent.",
  }),
);
export const flag = (description: string) => s.optional(s.boolean({ description }));
export const instant = (description: string) => s.optional(s.time({ description }));

/** Null while unknown, as in worker documents. */
export const orNull = <T>(value: Shape<T>) => s.optional(s.raw<T | null>({ ...value.schema, nullable: true }));

export const conditions = s.optional(
  s.list(
    s.object({
      type: s.string(),
      status: s.oneOf("True", "False", "Unknown"),
      reason: text("One CamelCase word."),
      message: text("Human-readable message."),
      lastTransitionTime: instant("Time of the last change of status."),
      observedGeneration: whole("The generation that the condition describes."),
    }),
    { key: "type" },
  ),
);
