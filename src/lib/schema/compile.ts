import { type FieldPath, formatFieldPath, type JsonValue, isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { type FieldError, fieldError } from "./field-error.ts";
import { compilePrune } from "./prune.ts";
import { compileRuleChecks } from "./rule-checks.ts";
import type { Schema } from "./schema.ts";
import { compileValidation } from "./validate.ts";
import { type CompileRule, mostPatternSteps, mostRuleUnits, type ValidationRun } from "./validation-run.ts";
import { type ResolveRef, type CompileNode, compileOnce, dereference, lazily } from "./walk.ts";

export interface CompileOptions {
  /** Finds what a `$ref` names; schemas of CustomResourceDefinitions have none. */
  readonly resolve?: ResolveRef;
  /** Compiles `x-kubernetes-validations`; without it rules are not checked. */
  readonly compileRule?: CompileRule;
}

/**
 * A schema made into functions, once. All are pure, never change their argument, and return the argument itself when
 * nothing had to change. Parts of the schema are compiled when a value first needs them.
 */
export interface CompiledSchema {
  /**
   * Drops members the schema does not know, and nulls where null means nothing. `unknown` holds the paths of the
   * former. Parts that are the very objects `known` has in their place count as pruned.
   */
  readonly prune: (
    value: JsonValue,
    known?: JsonValue,
  ) => { readonly value: JsonValue; readonly unknown: readonly string[] };
  readonly withDefaults: (value: JsonValue) => JsonValue;
  /** At most 100 errors. With `old`, errors in parts that did not change are left out. */
  readonly validate: (
    value: JsonValue,
    options?: { readonly old?: JsonValue; readonly at?: FieldPath },
  ) => readonly FieldError[];
}

/** Compiles a structural schema. */
export function compileSchema(schema: Schema, options: CompileOptions = {}): CompiledSchema {
  const prune = compilePrune(schema, options.resolve);
  const withDefaults = compileDefaults(schema, options.resolve);
  const check = compileValidation(schema, options.resolve);
  const askRules = compileRuleChecks(schema, options.resolve, options.compileRule);
  return {
    prune(value, known) {
      // Paths become text only when there are any.
      const unknown: FieldPath[] = [];
      const pruned = prune(value, { path: [], unknown }, known);
      return { value: pruned, unknown: unknown.map(formatFieldPath) };
    },
    withDefaults,
    validate(value, { old, at = [] } = {}) {
      const run: ValidationRun = {
        path: [...at],
        errors: [],
        patternSteps: { left: mostPatternSteps },
        ruleBudget: { left: mostRuleUnits },
      };
      check(value, run, old);
      askRules?.(value, run, old);
      // Checks of patterns pass once the steps are spent; the object does not.
      const detail = "matching the patterns of its schema takes too long";
      return run.patternSteps.left < 0 ? [fieldError.forbidden(at, detail), ...run.errors] : run.errors;
    },
  };
}

/** Returns the value with defaults filled in from the top down; the same value when nothing was absent. */
type FillDefaults = (value: JsonValue) => JsonValue;

/** Compiles the defaults of a structural schema. Parts of a schema that have no defaults cost nothing. */
const compileDefaults = (schema: Schema, resolve?: ResolveRef): FillDefaults =>
  compileOnce<FillDefaults>((node, compile) => makeFill(node, compile, resolve), resolve)(schema);

const keep: FillDefaults = (value) => value;

/** Children are compiled when a value first has them; a schema that refers to itself ends there. */
function makeFill(schema: Schema, compile: CompileNode<FillDefaults>, resolve: ResolveRef | undefined): FillDefaults {
  if (!hasDefaults(schema, resolve, new Set())) return keep;
  const properties = propertyFills(schema, compile, resolve);
  const { additionalProperties, items } = schema;
  const fillItem = items === undefined ? undefined : fillOf(items, compile, resolve);
  const fillOther =
    typeof additionalProperties === "object" ? fillOf(additionalProperties, compile, resolve) : undefined;
  return (value) => {
    if (Array.isArray(value)) return fillItem === undefined ? value : fillItems(value, fillItem);
    if (!isJsonObject(value)) return value;
    return fillProperties(fillOther === undefined ? value : fillOthers(value, properties, fillOther), properties);
  };
}

/** Items and values of maps are never absent; null stands for the default where the schema does not allow null. */
function fillOf(schema: Schema, compile: CompileNode<FillDefaults>, resolve: ResolveRef | undefined): FillDefaults {
  const fill = lazily(compile, schema);
  const preset = dereference(schema, resolve).nullable === true ? undefined : schema.default;
  return (value) => fill()(value === null ? (preset ?? value) : value);
}

/** A property with a default at or below it. `preset` is its own default, undefined if only below. */
interface PropertyFill {
  readonly preset: JsonValue | undefined;
  readonly nullable: boolean;
  readonly fill: () => FillDefaults;
}
type PropertyFills = ReadonlyMap<string, PropertyFill>;

const propertyFills = (
  schema: Schema,
  compile: CompileNode<FillDefaults>,
  resolve: ResolveRef | undefined,
): PropertyFills =>
  new Map(
    Object.entries(schema.properties ?? {})
      .filter(([, child]) => child.default !== undefined || hasDefaults(child, resolve, new Set()))
      .map(([name, child]) => {
        const nullable = dereference(child, resolve).nullable === true;
        return [name, { preset: child.default, nullable, fill: lazily(compile, child) }];
      }),
  );

/** Null counts as absent unless the schema allows null, as in Kubernetes. Defaults get their own defaults. */
function fillProperties(object: JsonObject, fills: PropertyFills): JsonObject {
  const added: [string, JsonValue][] = [];
  for (const [name, { preset, nullable, fill }] of fills) {
    const found = Object.hasOwn(object, name) ? object[name] : undefined;
    const present = found === null && !nullable ? (preset ?? found) : (found ?? preset);
    if (present === undefined) continue;
    const filled = found === null && nullable ? null : fill()(present);
    if (filled !== found) added.push([name, filled]);
  }
  return added.length === 0 ? object : { ...object, ...Object.fromEntries(added) };
}

/** Members that no property names, each by the schema of `additionalProperties`; nothing is added here, only below. */
function fillOthers(object: JsonObject, properties: PropertyFills, fill: FillDefaults): JsonObject {
  const added: [string, JsonValue][] = [];
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined || properties.has(name)) continue;
    const filled = fill(value);
    if (filled !== value) added.push([name, filled]);
  }
  return added.length === 0 ? object : { ...object, ...Object.fromEntries(added) };
}

/** The list itself when no item changed. */
function fillItems(list: readonly JsonValue[], fill: FillDefaults): JsonValue {
  const filled = list.map(fill);
  return filled.some((item, index) => item !== list[index]) ? filled : list;
}

/** Whether a value of this schema could ever gain a member. A schema met again on the way answers no for itself. */
function hasDefaults(schema: Schema, resolve: ResolveRef | undefined, met: Set<Schema>): boolean {
  const node = dereference(schema, resolve);
  if (met.has(node)) return false;
  met.add(node);
  const children = Object.values(node.properties ?? {});
  if (children.some((child) => child.default !== undefined)) return true;
  if (node.items !== undefined) children.push(node.items);
  if (typeof node.additionalProperties === "object") children.push(node.additionalProperties);
  return children.some((child) => child.default !== undefined || hasDefaults(child, resolve, met));
}
