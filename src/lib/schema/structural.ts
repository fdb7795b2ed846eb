import {
  type FieldPath,
  err,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ok,
  type Result,
} from "#lib/base/index.ts";
import { compileRe2, estimateSize } from "#lib/text/index.ts";
import { type FieldError, fieldError } from "./field-error.ts";
import { forbiddenKeywords, keywordProblem, keywords } from "./keywords.ts";
import type { Schema } from "./schema.ts";
import { checkDefaults } from "./structural-defaults.ts";
import { checkCompleteness, checkJunctorNode, repeatsIntOrString } from "./structural-junctors.ts";
import { checkList, typeError } from "./structural-lists.ts";
import { checkRuleTexts } from "./structural-rules.ts";
import type { CompileRule } from "./validation-run.ts";

// The rules are those of Kubernetes' structural schemas (CustomResourceDefinition v1): every field is declared once,
// outside the junctors, so that pruning, defaults and server-side apply know each field without evaluating anything.
// Messages follow kube-apiserver's.

const types: readonly string[] = ["object", "array", "string", "integer", "number", "boolean"];
/** Deeper schemas are refused: no document needs them, and every walk over a schema is recursive. */
const deepest = 100;

/**
 * Instructions of all patterns of a schema together, each counted once: compiling them takes some 100 ms, and their
 * programs 20 MB. Schemas that people write have a few thousand.
 */
const mostInstructions = 100_000;

/** The patterns met so far with what is wrong with them, and how many instructions the others may have. */
interface PatternBudget {
  readonly met: Map<string, string | undefined>;
  left: number;
}

/** Where a node stands: `junctor` is inside allOf, anyOf, oneOf or not, which constrain and do not declare. */
interface Place {
  readonly path: FieldPath;
  readonly depth: number;
  /** The object itself, whose `metadata`, `apiVersion` and `kind` are declared by everybody alike. */
  readonly root: boolean;
  readonly junctor: boolean;
  /** In `allOf[0]`: its `anyOf` may repeat the two types of an IntOrString node. */
  readonly firstOfAll: boolean;
  readonly patterns: PatternBudget;
}

/**
 * Reads the schema of a CustomResourceDefinition: either it is structural, or all reasons why it is not. `at` is where
 * the schema stands in its document. With `compileRule`, defaults must pass the rules of the schema.
 */
export function readStructuralSchema(
  json: JsonValue,
  at: FieldPath,
  compileRule?: CompileRule,
): Result<Schema, readonly FieldError[]> {
  if (!isJsonObject(json)) return err([fieldError.wrongType(at, json, "must be a schema")]);
  const patterns = { met: new Map<string, string | undefined>(), left: mostInstructions };
  const errors = checkNode(json, { path: at, depth: 0, root: true, junctor: false, firstOfAll: false, patterns });
  if (errors.length > 0) return err(errors);
  // Every keyword has been found to hold what the type says.
  const schema = json as Schema;
  // Only now: defaults are judged by compiling the schema, which counts on all of it being right.
  const badDefaults = checkDefaults(schema, at, compileRule);
  return badDefaults.length > 0 ? err(badDefaults) : ok(schema);
}

/** A node whose keywords hold the wrong things is judged no further: the other rules count on their types. */
function checkNode(node: JsonObject, place: Place): readonly FieldError[] {
  if (place.depth > deepest) return [fieldError.forbidden(place.path, `schemas may be nested ${deepest} levels deep`)];
  const shape = Object.entries(node).flatMap(([name, value]) => checkKeyword(name, value, place));
  if (shape.length > 0) return shape;
  const schema = node as Schema;
  return [
    ...(place.junctor ? checkJunctorNode(schema, place.path) : checkDeclaration(schema, place)),
    ...checkValueRules(schema, place),
    ...checkChildren(schema, place),
  ];
}

/** Unknown keywords are refused instead of kept: a misspelt one would silently check nothing. */
function checkKeyword(name: string, value: JsonValue | undefined, { path }: Place): readonly FieldError[] {
  if (value === undefined) return [];
  const forbidden = forbiddenKeywords.get(name);
  if (forbidden !== undefined) return [fieldError.forbidden([...path, name], forbidden)];
  if (!keywords.has(name)) return [fieldError.forbidden([...path, name], "is not a keyword of structural schemas")];
  const problem = keywordProblem(name, value);
  return problem === undefined ? [] : [fieldError.wrongType([...path, name], value, problem)];
}

/** Rules for nodes that declare a field. */
function checkDeclaration(schema: Schema, place: Place): readonly FieldError[] {
  return [
    ...checkType(schema, place),
    ...checkObject(schema, place),
    ...checkList(schema, place.path),
    ...(place.root ? checkCompleteness(schema, place.path) : []),
    ...checkRuleTexts(schema, place.path),
  ];
}

/** One finding at most, the first: the others would follow from it. */
function checkType(schema: Schema, { path, root }: Place): readonly FieldError[] {
  const { type } = schema;
  const intOrString = schema["x-kubernetes-int-or-string"] === true;
  const preserves = schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (type !== undefined && !types.includes(type)) return [fieldError.notSupported([...path, "type"], type, types)];
  if (root && type !== "object")
    return [fieldError.invalid([...path, "type"], type ?? "", `must be "object" at the root`)];
  if (intOrString && preserves) {
    return [
      fieldError.forbidden(
        [...path, "x-kubernetes-preserve-unknown-fields"],
        "must be false when x-kubernetes-int-or-string is true",
      ),
    ];
  }
  return type === undefined && !intOrString && !preserves
    ? [fieldError.required([...path, "type"], "must not be empty for specified fields")]
    : [];
}

/** Rules of objects: which members are known, and who may say so. */
function checkObject(schema: Schema, { path, root }: Place): readonly FieldError[] {
  const { additionalProperties: rest, properties = {} } = schema;
  const errors: FieldError[] = [];
  const forbid = (keyword: string, detail: string) => errors.push(fieldError.forbidden([...path, keyword], detail));
  if (rest !== undefined && rest !== true && Object.keys(properties).length > 0)
    forbid("additionalProperties", "additionalProperties and properties are mutual exclusive");
  if (root && rest !== undefined) forbid("additionalProperties", "must not be used at the root");
  if (root && schema.nullable === true) forbid("nullable", "nullable cannot be true at the root");
  if (schema["x-kubernetes-preserve-unknown-fields"] === false)
    errors.push(
      fieldError.invalid([...path, "x-kubernetes-preserve-unknown-fields"], false, "must be true or undefined"),
    );
  if (schema["x-kubernetes-map-type"] !== undefined && schema.type !== "object")
    errors.push(typeError(path, schema, "object", "x-kubernetes-map-type"));
  const isEmbedded = schema["x-kubernetes-embedded-resource"] === true;
  if (isEmbedded) errors.push(...checkEmbedded(schema, path));
  return root || isEmbedded ? [...errors, ...checkEnvelope(properties, path, root)] : errors;
}

/** An object inside an object: something must be known of it beside its envelope, or everything be kept. */
function checkEmbedded(schema: Schema, path: FieldPath): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (schema.type !== "object") errors.push(typeError(path, schema, "object", "x-kubernetes-embedded-resource"));
  if (schema["x-kubernetes-int-or-string"] === true) {
    const at = [...path, "x-kubernetes-embedded-resource"];
    errors.push(fieldError.invalid(at, true, "must be false if x-kubernetes-int-or-string is true"));
  }
  const besides = "if x-kubernetes-embedded-resource is set";
  if (schema.additionalProperties !== undefined)
    errors.push(fieldError.forbidden([...path, "additionalProperties"], `must not be used ${besides}`));
  const isEmpty = Object.keys(schema.properties ?? {}).length === 0;
  if (isEmpty && schema["x-kubernetes-preserve-unknown-fields"] !== true)
    errors.push(
      fieldError.required([...path, "properties"], `must not be empty ${besides}, or unknown fields be preserved`),
    );
  return errors;
}

/** The server declares the envelope. A schema may repeat its types, and constrain root names, without defaults. */
function checkEnvelope(
  properties: NonNullable<Schema["properties"]>,
  path: FieldPath,
  root: boolean,
): readonly FieldError[] {
  const types = { apiVersion: "string", kind: "string", metadata: "object" } as const;
  return Object.entries(types).flatMap(([name, type]) => {
    const member = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const at = [...path, "properties", name];
    if (member === undefined) return [];
    if (member.type !== undefined && member.type !== type)
      return [fieldError.invalid([...at, "type"], member.type, `must be ${type}`)];
    return root ? [...checkNoDefaults(member, at), ...(name === "metadata" ? checkMetadata(member, at) : [])] : [];
  });
}

/** The envelope is filled in by the server alone. */
const checkNoDefaults = (schema: Schema, at: FieldPath): readonly FieldError[] => [
  ...(schema.default === undefined
    ? []
    : [fieldError.forbidden([...at, "default"], "must not be set in the envelope")]),
  ...Object.entries(schema.properties ?? {}).flatMap(([name, child]) =>
    checkNoDefaults(child, [...at, "properties", name]),
  ),
];

function checkMetadata(metadata: Schema, at: FieldPath): readonly FieldError[] {
  const names = Object.keys(metadata.properties ?? {}).filter((name) => name !== "name" && name !== "generateName");
  const foreign = [
    ...Object.keys(metadata).filter((keyword) => !["type", "properties", "default"].includes(keyword)),
    ...names.map((name) => `properties.${name}`),
  ];
  const detail = "metadata may only restrict name and generateName";
  return foreign.map((keyword) => fieldError.forbidden([...at, ...keyword.split(".")], detail));
}

/** Rules for keywords anywhere. Compiles patterns, so that no schema is accepted that cannot be applied. */
function checkValueRules(schema: Schema, { path, patterns }: Place): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (schema.uniqueItems === true) {
    errors.push(fieldError.forbidden([...path, "uniqueItems"], `must not be true; use x-kubernetes-list-type "set"`));
  }
  const problem = schema.pattern === undefined ? undefined : patternProblem(schema.pattern, patterns);
  if (problem !== undefined) errors.push(fieldError.invalid([...path, "pattern"], schema.pattern, problem));
  if (schema.multipleOf !== undefined && schema.multipleOf <= 0) {
    errors.push(fieldError.invalid([...path, "multipleOf"], schema.multipleOf, "must be greater than 0"));
  }
  const oneWordOf = (keyword: "x-kubernetes-list-type" | "x-kubernetes-map-type", allowed: readonly string[]) => {
    const value = schema[keyword];
    if (value !== undefined && !allowed.includes(value))
      errors.push(fieldError.notSupported([...path, keyword], value, allowed));
  };
  oneWordOf("x-kubernetes-list-type", ["atomic", "set", "map"]);
  oneWordOf("x-kubernetes-map-type", ["atomic", "granular"]);
  return errors;
}

/** A pattern beyond the budget is not compiled; the first of them is told, the others would say the same. */
function patternProblem(pattern: string, patterns: PatternBudget): string | undefined {
  if (patterns.left < 0 || patterns.met.has(pattern)) return patterns.met.get(pattern);
  // One that is too large by itself is refused by the compiler, which says so.
  patterns.left -= estimateSize(pattern) <= mostInstructions ? estimateSize(pattern) : 0;
  if (patterns.left < 0) return `the patterns of this schema come to more than ${mostInstructions} instructions`;
  const compiled = compileRe2(pattern);
  const problem = compiled.ok ? undefined : compiled.error;
  patterns.met.set(pattern, problem);
  return problem;
}

/** The depth is bounded by `checkNode`, hence so is this recursion. */
function checkChildren(schema: Schema, place: Place): readonly FieldError[] {
  const visit = (child: Schema, parts: FieldPath, junctor: boolean, firstOfAll = false) =>
    checkNode(child as JsonObject, {
      path: [...place.path, ...parts],
      depth: place.depth + 1,
      root: false,
      junctor,
      firstOfAll,
      patterns: place.patterns,
    });
  const { properties = {}, additionalProperties: rest, items, not, anyOf = [] } = schema;
  const mayRepeat = !place.junctor || place.firstOfAll;
  const visitParts = (name: "allOf" | "oneOf" | "anyOf", parts: readonly Schema[]) =>
    parts.flatMap((child, index) =>
      visit(child, [name, index], true, name === "allOf" && index === 0 && !place.junctor),
    );
  return [
    ...Object.entries(properties).flatMap(([name, child]) => visit(child, ["properties", name], place.junctor)),
    ...(typeof rest === "object" ? visit(rest, ["additionalProperties"], place.junctor) : []),
    ...(items === undefined ? [] : visit(items, ["items"], place.junctor)),
    ...visitParts("allOf", schema.allOf ?? []),
    ...(mayRepeat && repeatsIntOrString(schema) ? [] : visitParts("anyOf", anyOf)),
    ...visitParts("oneOf", schema.oneOf ?? []),
    ...(not === undefined ? [] : visit(not, ["not"], true)),
  ];
}
