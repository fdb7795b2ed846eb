import { type Shape, s } from "#lib/schema/index.ts";

/** A text that may be absent. */
export const text = (description: string) => s.optional(s.string({ description }));
/** A number without a fraction, 0 or more. */
export const whole = (description: string) => s.optional(s.integer({ minimum: 0, description }));
/** What clients of the REST API know an object by; the bound leaves room for numbers above whatever somebody has chosen. */
export const highestNumber = 1_000_000_000_000;
export const number = s.optional(
  s.integer({
    minimum: 1,
    maximum: highestNumber,
    description: "What the REST API calls it; given by the controller where it is absent.",
  }),
);
/** True, false, or not said. */
export const flag = (description: string) => s.optional(s.boolean({ description }));
/** An RFC 3339 time that may be absent. */
export const instant = (description: string) => s.optional(s.time({ description }));

/** Null stands for what is not known yet, as in the documents of workers. */
export const orNull = <T>(value: Shape<T>) => s.optional(s.raw<T | null>({ ...value.schema, nullable: true }));

/** As Kubernetes has them. */
export const conditions = s.optional(
  s.list(
    s.object({
      type: s.string(),
      status: s.oneOf("True", "False", "Unknown"),
      reason: text("One CamelCase word."),
      message: text("For people."),
      lastTransitionTime: instant("When its status changed last."),
      observedGeneration: whole("The generation of the specification it is about."),
    }),
    { key: "type" },
  ),
);
