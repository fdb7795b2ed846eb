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

/** Items of an array have the same form, at any depth. */
type Demands = Pick<Param, "type" | "enum" | "pattern" | "minimum" | "maximum" | "items">;

/** Arguments over defaults. A parameter with neither is absent; test with `has(params.x)`. */
export const paramValues = ({ params = [], arguments: given = {} }: WorkflowSpec): JsonObject =>
  withDefaults(params, given);

export function withDefaults(params: readonly Param[], given: JsonObject): JsonObject {
  const values = params.map(({ name, default: otherwise }) => [name, ownMember(given, name) ?? otherwise] as const);
  return Object.fromEntries(values.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

export function checkParams(spec: WorkflowSpec, report: Report): void {
  checkDeclarations(spec.params ?? [], ["spec", "params"], report);
  checkValues(spec.params ?? [], spec.arguments ?? {}, ["spec", "arguments"], report);
}

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

/** Each compares with every parameter. */
const mostSuggestions = 100;

function checkDeclaration(param: Param, at: FieldPath, report: Report): void {
  if (param.secret === true) return checkSecretDeclaration(param, at, report);
  if (param.pattern !== undefined) {
    const pattern = compileRe2(param.pattern);
    if (!pattern.ok) report([...at, "pattern"], "invalid-pattern", pattern.error);
  }
  if (param.default === undefined) return;
  for (const problem of objections(param.default, param)) report([...at, "default"], "invalid-default", problem);
}

function checkValue(param: Param, value: JsonValue | undefined, at: FieldPath, report: Report): void {
  if (value !== undefined) {
    const problems = param.secret === true ? secretObjections(value) : objections(value, param);
    for (const problem of problems) report(at, "invalid-argument", problem);
  } else if ((param.required === true || param.secret === true) && param.default === undefined) {
    // Expressions cannot test for a secret.
    report(
      at,
      "missing-argument",
      `the parameter "${param.name}" is ${param.secret === true ? "secret: a key of a Secret is required" : "required"}`,
    );
  }
}

/** A parameter may be named like an inherited member. */
const ownMember = (values: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined;

/** All reasons against a value. Follows JSON Schema, with `pattern` as RE2, which no value can slow down. */
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
  // An invalid pattern is reported at its declaration.
  return !match.ok || match.value ? [] : [`expected a text that matches ${pattern}, found ${describeValue(value)}`];
}

function rangeObjections(value: number, { minimum, maximum }: Demands): readonly string[] {
  if (minimum !== undefined && value < minimum) return [`expected at least ${minimum}, found ${value}`];
  if (maximum !== undefined && value > maximum) return [`expected at most ${maximum}, found ${value}`];
  return [];
}

function itemObjections(values: readonly JsonValue[], items: JsonObject): readonly string[] {
  const demands = readDemands(items);
  return values.flatMap((value, index) => objections(value, demands).map((problem) => `item ${index}: ${problem}`));
}

/** `items` is free-form; unknown members are ignored. */
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

/** `7.0` is an integer, as in JSON Schema. */
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

/** Cut, because messages are one line. */
function describeValue(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}

/** Reads an argument of `--param`: texts as they are, all others as JSON (`--param list='["a"]'`). */
export function parseArgument(param: Param, text: string): Result<JsonValue, string> {
  if (param.secret === true) return parseSecretArgument(text);
  const type = param.type ?? "string";
  if (type === "string") return ok(text);
  try {
    const value: JsonValue = JSON.parse(text);
    return isOfType(value, type) ? ok(value) : err(`expected ${withArticle(type)}, found ${describeValue(value)}`);
  } catch {
    // Not JSON, so not of this type.
    return err(`expected ${withArticle(type)}, found ${describeValue(text)}`);
  }
}
