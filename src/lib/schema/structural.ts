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
import { compileSchema } from "./compile.ts";
import { type FieldError, fieldError } from "./field-error.ts";
import { forbiddenKeywords, keywordProblem, keywords } from "./keywords.ts";
import type { Schema, ValidationRule } from "./schema.ts";

// The rules are those of Kubernetes' structural schemas (CustomResourceDefinition v1): every field is declared once, outside the
// junctors, so that pruning, defaults and server-side apply know each field without evaluating anything. Messages follow
// kube-apiserver's.

const types: readonly string[] = ["object", "array", "string", "integer", "number", "boolean"];
/** Deeper schemas are refused: no document needs them, and every walk over a schema is recursive. */
const deepest = 100;

/**
 * Instructions of all patterns of a schema together, each counted once: compiling them takes some 100 ms, and their programs 20 MB.
 * Schemas that people write have a few thousand.
 */
const mostInstructions = 100_000;

/** The patterns met so far with what is wrong with them, and how many instructions the others may have. */
interface PatternBudget {
  readonly met: Map<string, string | undefined>;
  left: number;
}

/** Where a node stands: `junctor` inside allOf, anyOf, oneOf or not, where only values are constrained, not declared. */
interface Place {
  readonly path: FieldPath;
  readonly depth: number;
  /** The object itself, whose `metadata`, `apiVersion` and `kind` are declared by everybody alike. */
  readonly root: boolean;
  readonly junctor: boolean;
  /** Inside a junctor of an IntOrString node, the two types may be repeated. */
  readonly intOrString: boolean;
  readonly patterns: PatternBudget;
}

/**
 * Reads the schema of a CustomResourceDefinition: either it is structural, or all reasons why it is not. `at` is where the schema
 * stands in its document.
 */
export function readStructuralSchema(json: JsonValue, at: FieldPath): Result<Schema, readonly FieldError[]> {
  if (!isJsonObject(json)) return err([fieldError.wrongType(at, json, "must be a schema")]);
  const patterns = { met: new Map<string, string | undefined>(), left: mostInstructions };
  const errors = checkNode(json, { path: at, depth: 0, root: true, junctor: false, intOrString: false, patterns });
  if (errors.length > 0) return err(errors);
  // Every keyword has been found to hold what the type says.
  const schema = json as Schema;
  // Only now: defaults are judged by compiling the schema, which counts on all of it being right.
  const badDefaults = checkDefaults(schema, at);
  return badDefaults.length > 0 ? err(badDefaults) : ok(schema);
}

/** A node whose keywords hold the wrong things is judged no further: the other rules count on their types. */
function checkNode(node: JsonObject, place: Place): readonly FieldError[] {
  if (place.depth > deepest) return [fieldError.forbidden(place.path, `schemas may be nested ${deepest} levels deep`)];
  const shape = Object.entries(node).flatMap(([name, value]) => checkKeyword(name, value, place));
  if (shape.length > 0) return shape;
  const schema = node as Schema;
  return [
    ...(place.junctor ? checkJunctorNode(schema, place) : checkDeclaration(schema, place)),
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
  return [...checkType(schema, place), ...checkObject(schema, place), ...checkList(schema, place.path)];
}

/** One finding at most, the first: the others would follow from it. */
function checkType(schema: Schema, { path, root }: Place): readonly FieldError[] {
  const { type } = schema;
  const intOrString = schema["x-kubernetes-int-or-string"] === true;
  const preserves = schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (type !== undefined && !types.includes(type)) return [fieldError.notSupported([...path, "type"], type, types)];
  if (root && type !== "object")
    return [fieldError.invalid([...path, "type"], type ?? "", `must be "object" at the root`)];
  if (intOrString && type !== undefined)
    return [fieldError.forbidden([...path, "type"], "must be empty when x-kubernetes-int-or-string is true")];
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

/** `additionalProperties: false` is refused because pruning does that for every declared object. */
function checkObject(schema: Schema, { path, root }: Place): readonly FieldError[] {
  const { additionalProperties: rest } = schema;
  const errors: FieldError[] = [];
  if (rest === false) errors.push(fieldError.forbidden([...path, "additionalProperties"], "must not be false"));
  if (rest !== undefined && schema.properties !== undefined) {
    errors.push(
      fieldError.forbidden([...path, "additionalProperties"], "properties and additionalProperties exclude each other"),
    );
  }
  if (root && rest !== undefined)
    errors.push(fieldError.forbidden([...path, "additionalProperties"], "must not be used at the root"));
  if (schema["x-kubernetes-preserve-unknown-fields"] === false) {
    errors.push(fieldError.invalid([...path, "x-kubernetes-preserve-unknown-fields"], false, "must be true or absent"));
  }
  if (schema["x-kubernetes-embedded-resource"] === true && schema.type !== "object") {
    errors.push(
      fieldError.invalid(
        [...path, "type"],
        schema.type ?? "",
        `must be "object" when x-kubernetes-embedded-resource is true`,
      ),
    );
  }
  const metadata = schema.properties?.metadata;
  const isObjectRoot = root || schema["x-kubernetes-embedded-resource"] === true;
  return isObjectRoot && metadata !== undefined ? [...errors, ...checkMetadata(metadata, path)] : errors;
}

/** The server itself declares metadata; a schema may only narrow how objects of the kind are called. */
function checkMetadata(metadata: Schema, path: FieldPath): readonly FieldError[] {
  const at = [...path, "properties", "metadata"];
  const allowed = ["type", "properties", "description", "title"];
  const foreign = Object.keys(metadata).filter((keyword) => !allowed.includes(keyword));
  const members = Object.keys(metadata.properties ?? {}).filter((name) => name !== "name" && name !== "generateName");
  return [
    ...foreign.map((keyword) =>
      fieldError.forbidden([...at, keyword], "metadata may only restrict name and generateName"),
    ),
    ...members.map((name) =>
      fieldError.forbidden([...at, "properties", name], "metadata may only restrict name and generateName"),
    ),
  ];
}

/** A list of type map is a map in disguise: its items are objects, told apart by scalar keys that are always there. */
function checkList(schema: Schema, path: FieldPath): readonly FieldError[] {
  if (schema.type === "array" && schema.items === undefined)
    return [fieldError.required([...path, "items"], "must be specified")];
  const listType = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const at = [...path, "x-kubernetes-list-map-keys"];
  if (listType !== undefined && schema.type !== "array") {
    return [fieldError.forbidden([...path, "x-kubernetes-list-type"], `may only stand with type "array"`)];
  }
  if (listType !== "map")
    return keys.length === 0 ? [] : [fieldError.forbidden(at, `may only stand with list type "map"`)];
  if (keys.length === 0) return [fieldError.required(at, `must not be empty with list type "map"`)];
  if (schema.items?.type !== "object")
    return [
      fieldError.invalid([...path, "items", "type"], schema.items?.type ?? "", `must be "object" with list type "map"`),
    ];
  return keys.flatMap((key, index) => checkListKey(schema.items ?? {}, key, [...at, index], path));
}

/** A key that could be absent would make two items without it the same one, and apply would merge them. */
function checkListKey(item: Schema, key: string, at: FieldPath, path: FieldPath): readonly FieldError[] {
  const properties = item.properties ?? {};
  const member = Object.hasOwn(properties, key) ? properties[key] : undefined;
  if (member === undefined) return [fieldError.invalid(at, key, "must name a property of the items")];
  if (member.type === "object" || member.type === "array")
    return [fieldError.invalid(at, key, "must name a scalar property")];
  const given = item.required?.includes(key) === true || member.default !== undefined;
  return given
    ? []
    : [
        fieldError.required(
          [...path, "items", "properties", key, "default"],
          "a list key must be required or have a default",
        ),
      ];
}

/** Rules for nodes inside allOf, anyOf, oneOf and not. */
function checkJunctorNode(schema: Schema, { path, intOrString }: Place): readonly FieldError[] {
  const declaring = [
    "type",
    "default",
    "nullable",
    "title",
    "description",
    "additionalProperties",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
  ];
  const typeAllowed = intOrString && (schema.type === "integer" || schema.type === "string");
  return Object.keys(schema)
    .filter((keyword) => declaring.includes(keyword) && !(keyword === "type" && typeAllowed))
    .map((keyword) => fieldError.forbidden([...path, keyword], "must not be set inside allOf, anyOf, oneOf or not"));
}

/**
 * Rules that hold wherever a keyword stands. Patterns are compiled here, so that no schema is accepted whose values could not
 * be judged.
 */
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
  const intOrString = place.intOrString || schema["x-kubernetes-int-or-string"] === true;
  const visit = (child: Schema, parts: FieldPath, junctor: boolean) =>
    checkNode(child as JsonObject, {
      path: [...place.path, ...parts],
      depth: place.depth + 1,
      root: false,
      junctor,
      intOrString: junctor && intOrString,
      patterns: place.patterns,
    });
  const { properties = {}, additionalProperties: rest, items, not } = schema;
  // metadata of an object root may say as little as `type: object`, and less.
  const isRoot = (name: string) => place.root && ["apiVersion", "kind", "metadata"].includes(name);
  return [
    ...Object.entries(properties).flatMap(([name, child]) =>
      isRoot(name) && Object.keys(child).length === 0 ? [] : visit(child, ["properties", name], place.junctor),
    ),
    ...(typeof rest === "object" ? visit(rest, ["additionalProperties"], place.junctor) : []),
    ...(items === undefined ? [] : visit(items, ["items"], place.junctor)),
    ...(["allOf", "anyOf", "oneOf"] as const).flatMap((name) =>
      (schema[name] ?? []).flatMap((child, index) => visit(child, [name, index], true)),
    ),
    ...(not === undefined ? [] : visit(not, ["not"], true)),
  ];
}

/** A default is stored in objects: it must be pruned and valid itself. */
function checkDefaults(schema: Schema, path: FieldPath): readonly FieldError[] {
  const here = schema.default === undefined ? [] : checkDefault(schema, schema.default, [...path, "default"]);
  const { properties = {}, additionalProperties: rest, items } = schema;
  return [
    ...here,
    ...Object.entries(properties).flatMap(([name, child]) => checkDefaults(child, [...path, "properties", name])),
    ...(typeof rest === "object" ? checkDefaults(rest, [...path, "additionalProperties"]) : []),
    ...(items === undefined ? [] : checkDefaults(items, [...path, "items"])),
  ];
}

/** Judged by the schema itself, with its own defaults filled in, as it will be in objects. */
function checkDefault(schema: Schema, preset: JsonValue, at: FieldPath): readonly FieldError[] {
  const compiled = compileSchema(schema);
  const { value, unknown } = compiled.prune(preset);
  if (unknown.length > 0)
    return [fieldError.invalid(at, preset, `must not contain unknown fields: ${unknown.join(", ")}`)];
  return compiled.validate(compiled.withDefaults(value), { at });
}

/** A rule and the path where it stands. */
export interface PlacedRule {
  readonly path: FieldPath;
  readonly rule: ValidationRule;
}

/** All `x-kubernetes-validations` rules of a schema. */
export function rulesOf(schema: Schema, path: FieldPath): readonly PlacedRule[] {
  const { properties = {}, additionalProperties: rest, items } = schema;
  return [
    ...(schema["x-kubernetes-validations"] ?? []).map((rule, index) => ({
      path: [...path, "x-kubernetes-validations", index],
      rule,
    })),
    ...Object.entries(properties).flatMap(([name, child]) => rulesOf(child, [...path, "properties", name])),
    ...(typeof rest === "object" ? rulesOf(rest, [...path, "additionalProperties"]) : []),
    ...(items === undefined ? [] : rulesOf(items, [...path, "items"])),
  ];
}
