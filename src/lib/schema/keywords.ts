import { isJsonObject, type JsonValue } from "#lib/base/index.ts";

/** What a keyword can hold; each has a check and a word for messages below. */
type Kind =
  | "string"
  | "number"
  | "count"
  | "boolean"
  | "strings"
  | "any"
  | "values"
  | "schema"
  | "schemas"
  | "properties"
  | "schema-or-boolean"
  | "rules";

/** The keywords a structural schema may contain, and what each one holds. */
export const keywords: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ["type", "string"],
  ["format", "string"],
  ["title", "string"],
  ["description", "string"],
  ["default", "any"],
  ["example", "any"],
  // Documentation only: kept for `kubectl explain`, without effect on values.
  ["externalDocs", "any"],
  ["nullable", "boolean"],
  ["enum", "values"],
  ["minimum", "number"],
  ["maximum", "number"],
  ["exclusiveMinimum", "boolean"],
  ["exclusiveMaximum", "boolean"],
  ["multipleOf", "number"],
  ["minLength", "count"],
  ["maxLength", "count"],
  ["pattern", "string"],
  ["minItems", "count"],
  ["maxItems", "count"],
  // Known, so that the structural rules can refuse `true` with a hint instead of calling it unknown.
  ["uniqueItems", "boolean"],
  ["minProperties", "count"],
  ["maxProperties", "count"],
  ["required", "strings"],
  ["properties", "properties"],
  ["additionalProperties", "schema-or-boolean"],
  ["items", "schema"],
  ["allOf", "schemas"],
  ["anyOf", "schemas"],
  ["oneOf", "schemas"],
  ["not", "schema"],
  ["x-kubernetes-preserve-unknown-fields", "boolean"],
  ["x-kubernetes-embedded-resource", "boolean"],
  ["x-kubernetes-int-or-string", "boolean"],
  ["x-kubernetes-list-type", "string"],
  ["x-kubernetes-list-map-keys", "strings"],
  ["x-kubernetes-map-type", "string"],
  ["x-kubernetes-validations", "rules"],
]);

/** JSON Schema keywords that a CustomResourceDefinition knows by name but may not use. */
export const forbiddenKeywords: ReadonlyMap<string, string> = new Map([
  ["$ref", "references are not supported; write the schema out"],
  ["$schema", "is not supported"],
  ["id", "is not supported"],
  ["definitions", "definitions are not supported; write the schema out"],
  ["dependencies", "is not supported"],
  ["patternProperties", "is not supported"],
  ["additionalItems", "is not supported"],
]);

const isString = (value: JsonValue): boolean => typeof value === "string";
const isListOf = (value: JsonValue, fits: (item: JsonValue) => boolean): boolean =>
  Array.isArray(value) && value.every(fits);

/** One level deep: schemas within schemas are judged when the walk gets to them. */
const fits: Readonly<Record<Kind, (value: JsonValue) => boolean>> = {
  any: () => true,
  string: isString,
  number: (value) => typeof value === "number",
  count: (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0,
  boolean: (value) => typeof value === "boolean",
  strings: (value) => isListOf(value, isString),
  values: (value) => Array.isArray(value),
  schema: isJsonObject,
  schemas: (value) => isListOf(value, isJsonObject),
  properties: (value) => isJsonObject(value) && Object.values(value).every(isJsonObject),
  "schema-or-boolean": (value) => isJsonObject(value) || typeof value === "boolean",
  rules: (value) => isListOf(value, (rule) => isJsonObject(rule) && typeof rule.rule === "string"),
};

/** Completes `must be …`. */
const words: Readonly<Record<Kind, string>> = {
  any: "any value",
  string: "a string",
  number: "a number",
  count: "an integer that is not negative",
  boolean: "true or false",
  strings: "a list of strings",
  values: "a list",
  schema: "a schema",
  schemas: "a list of schemas",
  properties: "an object of schemas",
  "schema-or-boolean": "a schema, true or false",
  rules: "a list of objects with a rule",
};

/** Says what a keyword must hold, or undefined when the value is right. */
export function keywordProblem(name: string, value: JsonValue): string | undefined {
  const kind = keywords.get(name);
  return kind === undefined || fits[kind](value) ? undefined : `must be ${words[kind]}`;
}
