import {
  err,
  type FieldPath,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEquals,
  ok,
  type Result,
} from "#lib/base/index.ts";
import { compileRe2, matchRe2, nearest } from "#lib/text/index.ts";
import type { Param, WorkflowSpec } from "../kinds.ts";
import type { Report } from "#kernel/dialect/index.ts";
import { checkSecretDeclaration, parseSecretArgument, secretObjections } from "./secret-params.ts";

/** What a value of a parameter must be; the items of an array have the same form, to any depth. */
type Demands = Pick<Param, "type" | "enum" | "pattern" | "minimum" | "maximum" | "items">;

/**
 * The values of `params` in expressions: arguments over defaults. A parameter with neither is absent, and an
 * expression that uses it fails unless it asks `has(params.x)`. O(params).
 */
export const paramValues = ({ params = [], arguments: given = {} }: WorkflowSpec): JsonObject =>
  withDefaults(params, given);

/** The declared ones of the values, over the defaults. */
export function withDefaults(params: readonly Param[], given: JsonObject): JsonObject {
  const values = params.map(({ name, default: otherwise }) => [name, ownMember(given, name) ?? otherwise] as const);
  return Object.fromEntries(values.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** Reports everything wrong with `params` and `arguments`. O(params + arguments), but for suggestions. */
export function checkParams(spec: WorkflowSpec, report: Report): void {
  checkDeclarations(spec.params ?? [], ["spec", "params"], report);
  checkValues(spec.params ?? [], spec.arguments ?? {}, ["spec", "arguments"], report);
}

/** Reports names that are declared twice, patterns that are none, and defaults that do not fit. */
export function checkDeclarations(params: readonly Param[], path: FieldPath, report: Report): void {
  const names = new Set<string>();
  for (const [index, param] of params.entries()) {
    const at = [...path, index];
    if (names.has(param.name))
      report([...at, "name"], "duplicate-param", `the parameter "${param.name}" is declared twice`);
    names.add(param.name);
    checkDeclaration(param, at, report);
  }
}

/**
 * Reports values that do not fit what is declared, required ones that are missing, and those that nobody declares. A value that
 * is not known yet counts as given, and as one that fits.
 */
export function checkValues(
  params: readonly Param[],
  given: JsonObject,
  path: FieldPath,
  report: Report,
  isKnown: (value: JsonValue) => boolean = () => true,
): void {
  for (const param of params) {
    const value = ownMember(given, param.name);
    if (value === undefined || isKnown(value)) checkValue(param, value, [...path, param.name], report);
  }
  const names = new Set(params.map(({ name }) => name));
  let suggestions = 0;
  for (const name of Object.keys(given)) {
    if (names.has(name)) continue;
    const close = (suggestions += 1) > mostSuggestions ? undefined : nearest(name, names);
    const hint = close === undefined ? undefined : `did you mean "${close}"?`;
    report([...path, name], "unknown-argument", `no parameter "${name}" is declared`, hint);
  }
}

/** Each costs a look at every parameter; a document that is wrong this often is not wrong by a slip of the finger. */
const mostSuggestions = 100;

/** A wrong declaration is reported once, not with every value. */
function checkDeclaration(param: Param, at: FieldPath, report: Report): void {
  if (param.secret === true) return checkSecretDeclaration(param, at, report);
  if (param.pattern !== undefined) {
    const pattern = compileRe2(param.pattern);
    if (!pattern.ok) report([...at, "pattern"], "invalid-pattern", pattern.error);
  }
  if (param.default === undefined) return;
  for (const problem of objections(param.default, param)) report([...at, "default"], "invalid-default", problem);
}

/** Defaults were checked where they stand. */
function checkValue(param: Param, value: JsonValue | undefined, at: FieldPath, report: Report): void {
  if (value !== undefined) {
    const problems = param.secret === true ? secretObjections(value) : objections(value, param);
    for (const problem of problems) report(at, "invalid-argument", problem);
  } else if ((param.required === true || param.secret === true) && param.default === undefined) {
    // No expression can ask whether a secret is there.
    report(
      at,
      "missing-argument",
      `the parameter "${param.name}" is ${param.secret === true ? "secret: a key of a Secret is required" : "required"}`,
    );
  }
}

/** Names of parameters may be those of inherited members. */
const ownMember = (values: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined;

/**
 * Everything that speaks against a value; nothing when it fits. A wrong type speaks for itself: what follows from it
 * is not told. The rest has the meaning of JSON Schema, with `pattern` as RE2, so that no value can make it slow.
 */
function objections(value: JsonValue, demands: Demands): readonly string[] {
  const type = demands.type ?? "string";
  if (!isOfType(value, type)) return [`expected ${withArticle(type)}, found ${describeValue(value)}`];
  const found: string[] = [];
  if (demands.enum !== undefined && !demands.enum.some((allowed) => jsonEquals(allowed, value)))
    found.push(
      `expected one of ${demands.enum.map((v) => JSON.stringify(v)).join(", ")}, found ${describeValue(value)}`,
    );
  if (typeof value === "string") found.push(...patternObjections(value, demands));
  if (typeof value === "number") found.push(...rangeObjections(value, demands));
  if (Array.isArray(value) && demands.items !== undefined) found.push(...itemObjections(value, demands.items));
  return found;
}

function patternObjections(value: string, { pattern }: Demands): readonly string[] {
  if (pattern === undefined) return [];
  const match = matchRe2(pattern, value);
  // A wrong pattern is reported where it is declared, once.
  return !match.ok || match.value ? [] : [`expected a text that matches ${pattern}, found ${describeValue(value)}`];
}

function rangeObjections(value: number, { minimum, maximum }: Demands): readonly string[] {
  if (minimum !== undefined && value < minimum) return [`expected at least ${minimum}, found ${value}`];
  if (maximum !== undefined && value > maximum) return [`expected at most ${maximum}, found ${value}`];
  return [];
}

/** Each item by itself, so that all of them are named. */
function itemObjections(values: readonly JsonValue[], items: JsonObject): readonly string[] {
  const demands = readDemands(items);
  return values.flatMap((value, index) => objections(value, demands).map((problem) => `item ${index}: ${problem}`));
}

/** `items` is free-form in the schema; what is not understood there demands nothing. */
function readDemands(items: JsonObject): Demands {
  const { type, enum: values, pattern, minimum, maximum, items: inner } = items;
  const known = types.find((name) => name === type);
  return {
    ...(known === undefined ? {} : { type: known }),
    ...(isJsonArray(values) ? { enum: values } : {}),
    ...(typeof pattern === "string" ? { pattern } : {}),
    ...(typeof minimum === "number" ? { minimum } : {}),
    ...(typeof maximum === "number" ? { maximum } : {}),
    ...(isJsonObject(inner) ? { items: inner } : {}),
  };
}

const types = ["string", "integer", "number", "boolean", "array", "object"] as const;
type ParamType = (typeof types)[number];

const isJsonArray = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value);

/** `7.0` is an integer, as in JSON Schema: JSON has one kind of number. */
function isOfType(value: JsonValue, type: ParamType): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isJsonObject(value);
    case "string":
    case "number":
    case "boolean":
      return typeof value === type;
  }
}

const withArticle = (type: ParamType): string => (/^[aio]/.test(type) ? `an ${type}` : `a ${type}`);

/** Long values are cut: messages are one line. */
function describeValue(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}

/**
 * Reads an argument given as text, as `slipway run --param name=text` does: texts as they are, everything else as
 * JSON (`--param list='["a"]'`). What the parameter demands beyond its type is checked when the document is.
 */
export function parseArgument(param: Param, text: string): Result<JsonValue, string> {
  if (param.secret === true) return parseSecretArgument(text);
  const type = param.type ?? "string";
  if (type === "string") return ok(text);
  try {
    const value: JsonValue = JSON.parse(text);
    return isOfType(value, type) ? ok(value) : err(`expected ${withArticle(type)}, found ${describeValue(value)}`);
  } catch {
    // The text is no JSON at all, which only means that it is not of this type.
    return err(`expected ${withArticle(type)}, found ${describeValue(text)}`);
  }
}
