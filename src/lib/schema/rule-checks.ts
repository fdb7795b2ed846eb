import { isJsonObject, jsonEquals, type JsonValue } from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";
import { type FieldError, fieldError } from "./field-error.ts";
import { parseRulePath } from "./rule-path.ts";
import type { Schema, ValidationRule } from "./schema.ts";
import {
  type CompileRule,
  mostErrors,
  type RuleFailure,
  type RuleProgram,
  type ValidationRun,
} from "./validation-run.ts";
import { type CompileNode, compileOnce, dereference, lazily, lazyProperties, type ResolveRef } from "./walk.ts";

// A walk of its own behind the one that checks types and limits: it only goes where rules are, and only when nothing is
// wrong that rules count on. Some rules are asked about values that did not change, which the other walk never looks
// at.

/** `unchanged`: this value, or one around it, is the same as before. */
type RuleCheck = (value: JsonValue, run: ValidationRun, old: JsonValue | undefined, unchanged: boolean) => void;

/** No further rule is asked: a rule, or all of them together, have cost too much. Never leaves this file. */
class BudgetSpent extends Error {}

/** Values a rule cannot judge: of the wrong type, without its members, or too large (as in Kubernetes). */
const blocking: ReadonlySet<FieldError["reason"]> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
] as const);

/**
 * Compiles the `x-kubernetes-validations` of a schema, to be run after its other checks; undefined when it has none.
 * Rules without a program are passed over: whoever accepted the schema has said what becomes of them.
 */
export function compileRuleChecks(
  schema: Schema,
  resolve: ResolveRef | undefined,
  compileRule: CompileRule | undefined,
): ((value: JsonValue, run: ValidationRun, old: JsonValue | undefined) => void) | undefined {
  if (compileRule === undefined || !hasRules(schema, resolve, new Set())) return undefined;
  const check = compileOnce<RuleCheck>(
    (node, compile) => makeCheck(node, compile, compileRule, resolve),
    resolve,
  )(schema);
  return (value, run, old) => {
    if (run.errors.some(({ reason }) => blocking.has(reason))) {
      const detail =
        "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
      report(run, fieldError.invalid("<nil>", "null", detail));
      return;
    }
    try {
      check(value, run, old, false);
    } catch (thrown) {
      if (!(thrown instanceof BudgetSpent)) throw thrown;
    }
  };
}

function report(run: ValidationRun, error: FieldError): void {
  if (run.errors.length < mostErrors) run.errors.push(error);
}

/** Whether there is a rule anywhere in a schema. One met again on the way answers no for itself. */
function hasRules(schema: Schema, resolve: ResolveRef | undefined, met: Set<Schema>): boolean {
  const node = dereference(schema, resolve);
  if (met.has(node)) return false;
  met.add(node);
  if ((node["x-kubernetes-validations"] ?? []).length > 0) return true;
  const children = Object.values(node.properties ?? {});
  if (node.items !== undefined) children.push(node.items);
  if (typeof node.additionalProperties === "object") children.push(node.additionalProperties);
  return children.some((child) => hasRules(child, resolve, met));
}

/** Children without rules are not visited; null is nothing a rule could be asked about. */
function makeCheck(
  schema: Schema,
  compile: CompileNode<RuleCheck>,
  compileRule: CompileRule,
  resolve: ResolveRef | undefined,
): RuleCheck {
  const rules = (schema["x-kubernetes-validations"] ?? []).flatMap((rule) => {
    const program = compileRule(rule);
    return program.ok ? [{ rule, program: program.value }] : [];
  });
  const visits = [membersVisit(schema, compile, resolve), itemsVisit(schema, compile, resolve)].filter(
    (visit) => visit !== undefined,
  );
  const type = schema.type ?? "";
  return (value, run, old, unchanged) => {
    if (value === null) return;
    const same = unchanged || (old !== undefined && jsonEquals(value, old));
    for (const { rule, program } of rules) askRule(rule, program, type, value, run, old, same);
    for (const visit of visits) visit(value, run, old, same);
  };
}

/** Members are known by their names, also those of an object that apply replaces whole. */
function membersVisit(
  schema: Schema,
  compile: CompileNode<RuleCheck>,
  resolve: ResolveRef | undefined,
): RuleCheck | undefined {
  const ruled = (child: Schema): boolean => hasRules(child, resolve, new Set());
  const properties = Object.entries(schema.properties ?? {}).filter(([, child]) => ruled(child));
  const known = lazyProperties(compile, { properties: Object.fromEntries(properties) });
  const declared = new Set(Object.keys(schema.properties ?? {}));
  const { additionalProperties: others } = schema;
  const rest = typeof others === "object" && ruled(others) ? lazily(compile, others) : undefined;
  if (known.size === 0 && rest === undefined) return undefined;
  return (value, run, old, unchanged) => {
    if (!isJsonObject(value)) return;
    for (const [name, member] of Object.entries(value)) {
      const check = known.get(name) ?? (declared.has(name) ? undefined : rest);
      if (member === undefined || check === undefined) continue;
      run.path.push(name);
      check()(member, run, memberOf(old, name), unchanged);
      run.path.pop();
    }
  };
}

/** Only items of keyed lists have an identity that survives a change of the list. */
function itemsVisit(
  schema: Schema,
  compile: CompileNode<RuleCheck>,
  resolve: ResolveRef | undefined,
): RuleCheck | undefined {
  if (schema.items === undefined || !hasRules(schema.items, resolve, new Set())) return undefined;
  const checkItem = lazily(compile, schema.items);
  const keys = keysOf(schema);
  return (value, run, old, unchanged) => {
    if (!Array.isArray(value)) return;
    const before = keys === undefined ? undefined : oldItems(old, keys);
    for (const [index, item] of value.entries()) {
      run.path.push(index);
      checkItem()(item, run, keys === undefined ? undefined : before?.get(identityOf(item, keys)), unchanged);
      run.path.pop();
    }
  };
}

/** A rule with `oldSelf` is checked if there is an old value; any other must not refuse what was there before it. */
function askRule(
  rule: ValidationRule,
  program: RuleProgram,
  type: string,
  value: JsonValue,
  run: ValidationRun,
  old: JsonValue | undefined,
  unchanged: boolean,
): void {
  if (program.usesOldSelf ? old === undefined && !program.runsWithoutOldSelf : unchanged) return;
  const outcome = program.evaluate(value, old, run.ruleBudget);
  if (run.ruleBudget.left < 0) {
    const detail = "validation failed due to running out of cost budget, no further validation rules will be run";
    report(run, fieldError.invalid(run.path, type, detail));
    throw new BudgetSpent();
  }
  if (outcome.ok) return;
  report(run, errorOf(rule, outcome.error, type, run.path));
  if (outcome.error.kind === "cost") throw new BudgetSpent();
}

/** As Kubernetes words it: rules stand on large values, so the type is shown in place of the value. */
function errorOf(
  { reason, fieldPath }: ValidationRule,
  { kind, message }: RuleFailure,
  type: string,
  path: readonly (string | number)[],
): FieldError {
  if (kind !== "refused") return fieldError.invalid(path, type, message);
  const at = [...path, ...(parseRulePath(fieldPath ?? "") ?? [])];
  if (reason === "FieldValueForbidden") return fieldError.forbidden(at, message);
  if (reason === "FieldValueRequired") return fieldError.required(at, message);
  return reason === "FieldValueDuplicate" ? fieldError.duplicate(at, type) : fieldError.invalid(at, type, message);
}

/** Own members only: `constructor` is no field of an object that does not have it. */
export const memberOf = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** The keys of a keyed list; undefined for every other. */
export const keysOf = (schema: Schema): readonly string[] | undefined =>
  schema["x-kubernetes-list-type"] === "map" ? (schema["x-kubernetes-list-map-keys"] ?? []) : undefined;

/** Canonical, so that `1` and `1.0` are one key and the order of members does not matter. */
export const identityOf = (item: JsonValue, keys: readonly string[]): string =>
  canonicalJson(keys.map((key) => memberOf(item, key) ?? null));

/** The items of a list by their identity. */
export function oldItems(
  old: JsonValue | undefined,
  keys: readonly string[],
): ReadonlyMap<string, JsonValue> | undefined {
  if (!Array.isArray(old)) return undefined;
  return new Map(old.map((item: JsonValue) => [identityOf(item, keys), item]));
}
