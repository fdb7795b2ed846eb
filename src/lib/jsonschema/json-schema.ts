import { Ajv, type ValidateFunction } from "ajv";
import { err, isJsonObject, type JsonObject, type JsonValue, messageOf, ok, type Result } from "#lib/base/index.ts";
import { formatChecks } from "#lib/schema/index.ts";
import { compileRe2, matchRe2 } from "#lib/text/index.ts";

/** Returns what is wrong with a value, or undefined. */
export type ValueCheck = (value: JsonValue) => string | undefined;

/** Largest schema of a param, in JSON values. Compiling ten of them takes about a millisecond. */
const mostParts = 2_000;
const deepest = 64;

/** Patterns come from users, so they match in linear time; a match that would take too long throws. */
const linearPattern = (pattern: string) => {
  const compiled = compileRe2(pattern);
  if (!compiled.ok) throw new Error(compiled.error);
  return {
    test: (text: string): boolean => {
      const matched = matchRe2(pattern, text);
      if (!matched.ok) throw new Error(matched.error);
      return matched.value;
    },
    toString: () => pattern,
  };
};

const makeAjv = (): Ajv =>
  new Ajv({
    // Real content uses unknown keywords, such as `isrequired`.
    strict: false,
    logger: false,
    addUsedSchema: false,
    code: { regExp: Object.assign(linearPattern, { code: "linearPattern" }) },
    formats: Object.fromEntries([...formatChecks].map(([name, check]) => [name, (text: string) => !check(text)])),
  });

let shared: Ajv | undefined;
const ajv = (): Ajv => {
  shared ??= makeAjv();
  return shared;
};

const checks = new WeakMap<JsonObject, Result<ValueCheck, string>>();
const anyValue: ValueCheck = () => undefined;

/**
 * Compiles a JSON Schema of drafts 4 to 7. References must stay within the schema; unknown formats are ignored. The
 * result is cached by identity of the schema, which must not be modified.
 */
export function compileSchema(schema: JsonValue): Result<ValueCheck, string> {
  if (schema === true || schema === null) return ok(anyValue);
  if (!isJsonObject(schema)) return err(`expected a map, found ${JSON.stringify(schema).slice(0, 80)}`);
  const known = checks.get(schema);
  if (known !== undefined) return known;
  const compiled = compile(schema);
  checks.set(schema, compiled);
  return compiled;
}

function compile(schema: JsonObject): Result<ValueCheck, string> {
  const budget = { parts: mostParts };
  const modern = modernize(schema, 0, budget);
  if (budget.parts < 0) return err(`has more than ${mostParts} parts, or more than ${deepest} levels`);
  try {
    const validate = ajv().compile(isJsonObject(modern) ? modern : {});
    return ok((value) => complaint(validate, value));
  } catch (thrown) {
    // Ajv adds the failures of every alternative type.
    const [first = ""] = messageOf(thrown).split(", data/");
    return err(first.replace(/^schema is invalid: data/, "schema"));
  } finally {
    // Otherwise Ajv keeps every schema it has ever compiled.
    if (isJsonObject(modern)) ajv().removeSchema(modern);
  }
}

function complaint(validate: ValidateFunction, value: JsonValue): string | undefined {
  try {
    if (validate(value)) return undefined;
  } catch (thrown) {
    return `cannot be checked: ${messageOf(thrown)}`;
  }
  const [first] = validate.errors ?? [];
  if (first === undefined) return "does not match the schema";
  const place = first.instancePath === "" ? "" : `${first.instancePath} `;
  const allowed = first.keyword === "enum" ? `: ${JSON.stringify(first.params["allowedValues"]).slice(0, 200)}` : "";
  return `${place}${first.message ?? "does not match the schema"}${allowed}`;
}

/** Keywords whose values are not schemas. */
const plain = new Set(["enum", "const", "default", "examples", "required", "type", "title", "description", "pattern"]);
/** Keywords whose members are named schemas. */
const named = new Set(["properties", "patternProperties", "definitions", "$defs", "dependencies"]);

/**
 * Converts draft 4 to draft 7, where `exclusiveMinimum` is a number. Removes `$schema` and identifiers: a param's
 * schema has no other name than its param.
 */
function modernize(value: JsonValue, depth: number, budget: { parts: number }): JsonValue {
  if (--budget.parts < 0 || depth > deepest) {
    budget.parts = -1;
    return true;
  }
  if (Array.isArray(value)) return value.map((item: JsonValue) => modernize(item, depth + 1, budget));
  if (!isJsonObject(value)) return value;
  const result: Record<string, JsonValue> = {};
  for (const [keyword, part] of Object.entries(value)) {
    if (part === undefined || keyword === "$schema" || keyword === "id" || keyword === "$id") continue;
    if (plain.has(keyword)) result[keyword] = part;
    else if (named.has(keyword) && isJsonObject(part)) result[keyword] = modernizeMembers(part, depth + 1, budget);
    else result[keyword] = modernize(part, depth + 1, budget);
  }
  for (const [exclusive, bound] of limits) {
    if (typeof result[exclusive] !== "boolean") continue;
    const number = result[bound];
    if (result[exclusive] && number !== undefined) {
      result[exclusive] = number;
      delete result[bound];
    } else delete result[exclusive];
  }
  return result;
}

const limits = [
  ["exclusiveMinimum", "minimum"],
  ["exclusiveMaximum", "maximum"],
] as const;

const modernizeMembers = (members: JsonObject, depth: number, budget: { parts: number }): JsonObject =>
  Object.fromEntries(
    Object.entries(members).map(([name, part]) => [
      name,
      Array.isArray(part) && part.every((item) => typeof item === "string")
        ? part
        : modernize(part ?? true, depth, budget),
    ]),
  );
