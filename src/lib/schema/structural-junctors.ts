import { type FieldPath, formatFieldPath, jsonEquals } from "#lib/base/index.ts";
import { type FieldError, fieldError } from "./field-error.ts";
import type { Schema } from "./schema.ts";

// allOf, anyOf, oneOf and not constrain values; they declare nothing. Whoever walks a structural schema need not look
// into them, so nothing may be known there that is not known outside.

const junctors = ["allOf", "anyOf", "oneOf"] as const;

/** Keywords that declare, with what they may hold nonetheless: what they mean when they are absent. */
const declaring: Readonly<Record<string, unknown>> = {
  type: "",
  default: null,
  nullable: false,
  title: "",
  description: "",
  additionalProperties: undefined,
  "x-kubernetes-preserve-unknown-fields": undefined,
  "x-kubernetes-embedded-resource": false,
  "x-kubernetes-int-or-string": false,
  "x-kubernetes-list-type": undefined,
  "x-kubernetes-list-map-keys": [],
  "x-kubernetes-map-type": undefined,
  "x-kubernetes-validations": [],
};

/** Rules for nodes inside allOf, anyOf, oneOf and not. */
export function checkJunctorNode(schema: Schema, path: FieldPath): readonly FieldError[] {
  const members: Readonly<Record<string, unknown>> = { ...schema };
  const errors = Object.keys(declaring)
    .filter((keyword) => members[keyword] !== undefined && !isNothing(members[keyword], declaring[keyword]))
    .map((keyword) => fieldError.forbidden([...path, keyword], "must not be set inside allOf, anyOf, oneOf or not"));
  if (schema.properties !== undefined && Object.hasOwn(schema.properties, "metadata")) {
    const at = [...path, "properties", "metadata"];
    errors.push(fieldError.forbidden(at, "must not be specified in a nested context"));
  }
  return errors;
}

const isNothing = (value: unknown, nothing: unknown): boolean =>
  value === nothing || (Array.isArray(nothing) && Array.isArray(value) && value.length === 0);

/** Two ways a schema may repeat x-kubernetes-int-or-string, for readers that do not know that keyword. */
const integerOrString = [{ type: "integer" }, { type: "string" }];
export const repeatsIntOrString = ({ anyOf }: Schema): boolean =>
  anyOf !== undefined && jsonEquals(JSON.parse(JSON.stringify(anyOf)), integerOrString);

/**
 * Every member and item that junctors of the root speak of must be declared beside them: else it would be pruned before
 * anybody looked at it. Kubernetes asks this of the root alone, and definitions of real projects count on that.
 */
export function checkCompleteness(declared: Schema, at: FieldPath): readonly FieldError[] {
  return partsOf(declared).flatMap(({ part, name }) => checkPart(part, declared, at, [...at, ...name]));
}

function partsOf(schema: Schema): readonly { readonly part: Schema; readonly name: FieldPath }[] {
  const parts = junctors.flatMap((name) => (schema[name] ?? []).map((part, index) => ({ part, name: [name, index] })));
  return schema.not === undefined ? parts : [...parts, { part: schema.not, name: ["not"] }];
}

/** `there` is where the junctor's node stands, `at` where its declaration does. */
function checkPart(part: Schema, declared: Schema | undefined, at: FieldPath, there: FieldPath): readonly FieldError[] {
  if (declared === undefined) return [fieldError.required(at, `because it is defined in ${formatFieldPath(there)}`)];
  const properties = declared.properties ?? {};
  return [
    ...partsOf(part).flatMap(({ part: inner, name }) => checkPart(inner, declared, at, [...there, ...name])),
    ...(part.items === undefined ? [] : checkPart(part.items, declared.items, [...at, "items"], [...there, "items"])),
    ...Object.entries(part.properties ?? {}).flatMap(([name, member]) => {
      const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
      return checkPart(member, known, [...at, "properties", name], [...there, "properties", name]);
    }),
  ];
}
