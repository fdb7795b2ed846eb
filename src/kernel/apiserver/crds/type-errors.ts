import type { FieldError } from "#lib/schema/index.ts";

const wrongType = /: must be of type ([a-z ]+), not (\w+)$/;

/**
 * Errors of types in the words that API servers have for custom kinds, which tell the types and not the value:
 * `Invalid value: "string": spec.size in body must be of type integer: "string"`. All other errors stay as they are.
 */
export const inBody = (errors: readonly FieldError[]): readonly FieldError[] =>
  errors.map((error) => {
    const [, expected, found] = wrongType.exec(error.message) ?? [];
    if (error.reason !== "FieldValueTypeInvalid" || expected === undefined) return error;
    const types = expected.replace(" or ", ",");
    return {
      ...error,
      message: `Invalid value: "${found}": ${error.field} in body must be of type ${types}: "${found}"`,
    };
  });
