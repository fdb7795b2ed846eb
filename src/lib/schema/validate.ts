import { formatFieldPath, isJsonObject, type JsonValue, jsonEquals } from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";
import { fieldError } from "./field-error.ts";
import { identityOf, keysOf, memberOf, oldItems } from "./rule-checks.ts";
import type { Schema } from "./schema.ts";
import { type Check, report, type ValidationRun } from "./validation-run.ts";
import { enumCheck, typeCheck, valueChecks } from "./value-checks.ts";
import { type CompileNode, compileOnce, lazily, lazyProperties, type ResolveRef } from "./walk.ts";

/** Compiles a schema's validation without its rules (rule-checks.ts). Linear in the value and its old value. */
export const compileValidation = (schema: Schema, resolve?: ResolveRef): Check =>
  compileOnce<Check>(makeCheck, resolve)(schema);

/** Type first, then everything else. Unchanged values, mostly by identity, are skipped (KEP-4008, ratcheting). */
function makeCheck(schema: Schema, compile: CompileNode<Check>): Check {
  const wrongType = typeCheck(schema);
  const nullable = schema.nullable === true;
  const checkEnum = enumCheck(schema);
  const inner = [
    ...valueChecks(schema),
    requiredCheck(schema),
    propertiesCheck(schema, compile),
    itemsCheck(schema, compile),
    uniqueCheck(schema),
    embeddedCheck(schema),
    ...junctorChecks(schema, compile),
  ].filter((check) => check !== undefined);
  return (value, run, old) => {
    if (old !== undefined && jsonEquals(value, old)) return;
    // An enum lists null where null is meant.
    if (value === null && nullable) return schema.enum === undefined ? undefined : checkEnum?.(value, run);
    const detail = wrongType?.(value);
    if (detail !== undefined) report(run, fieldError.wrongType(run.path, value, detail));
    else for (const check of inner) check(value, run, old);
  };
}

/** Runs `check` one step deeper. */
function descend(
  run: ValidationRun,
  part: string | number,
  check: Check,
  value: JsonValue,
  old: JsonValue | undefined,
) {
  run.path.push(part);
  check(value, run, old);
  run.path.pop();
}

/** The path of the error is the missing member's, as in Kubernetes. */
function requiredCheck({ required }: Schema): Check | undefined {
  if (required === undefined || required.length === 0) return undefined;
  return (value, run) => {
    if (!isJsonObject(value)) return;
    for (const name of required) {
      if (memberOf(value, name) === undefined) report(run, fieldError.required([...run.path, name]));
    }
  };
}

/** Members that nothing declares are not judged here: pruning has dropped them, or they are kept unseen. */
function propertiesCheck(schema: Schema, compile: CompileNode<Check>): Check | undefined {
  const known = lazyProperties(compile, schema);
  const rest =
    typeof schema.additionalProperties === "object" ? lazily(compile, schema.additionalProperties) : undefined;
  const isClosed = schema.additionalProperties === false;
  if (known.size === 0 && rest === undefined && !isClosed) return undefined;
  return (value, run, old) => {
    if (!isJsonObject(value)) return;
    for (const name of Object.keys(value)) {
      const member = value[name];
      if (member === undefined) continue;
      const before = memberOf(old, name);
      // On the path of every write, most members are the very ones that were there before.
      if (member === before) continue;
      if (isClosed && !known.has(name))
        report(
          run,
          fieldError.invalid(run.path, name, `${formatFieldPath([...run.path, name])} is a forbidden property`),
        );
      const check = (known.get(name) ?? rest)?.();
      if (check !== undefined) descend(run, name, check, member, before);
    }
  };
}

/** Items of other lists have no identity: an item that moved would be compared with its neighbour. */
function itemsCheck(schema: Schema, compile: CompileNode<Check>): Check | undefined {
  if (schema.items === undefined) return undefined;
  const checkItem = lazily(compile, schema.items);
  const keys = keysOf(schema);
  const isFine = plainScalar(schema.items);
  return (value, run, old) => {
    if (!Array.isArray(value) || (isFine !== undefined && value.every(isFine))) return;
    const oldOf = keys === undefined ? undefined : oldItems(old, keys);
    for (const [index, item] of value.entries()) {
      // Only items of keyed lists have an identity that survives a change of the list.
      descend(run, index, checkItem(), item, keys === undefined ? undefined : oldOf?.get(identityOf(item, keys)));
    }
  };
}

const scalars: ReadonlySet<string | undefined> = new Set(["string", "integer", "number", "boolean"]);
const silent: ReadonlySet<string> = new Set(["type", "description", "title", "default", "example"]);

/** Whether a value is fine for a schema of one scalar type and nothing else: most long lists are of those. */
function plainScalar(schema: Schema): ((value: JsonValue) => boolean) | undefined {
  const wrongType = typeCheck(schema);
  if (!scalars.has(schema.type) || Object.keys(schema).some((keyword) => !silent.has(keyword))) return undefined;
  return (value) => wrongType?.(value) === undefined;
}

/** Where something stands for the second time; a third time is the same mistake. */
function secondsIn(identities: readonly string[]): readonly number[] {
  const times = new Map<string, number>();
  return identities.flatMap((identity, index) => {
    const before = times.get(identity) ?? 0;
    times.set(identity, before + 1);
    return before === 1 ? [index] : [];
  });
}

/** Scalars of a set and keys of a map occur once; the error stands at the second occurrence. */
function uniqueCheck(schema: Schema): Check | undefined {
  const type = schema["x-kubernetes-list-type"];
  if (type !== "set" && type !== "map") return undefined;
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const shown = (item: JsonValue): JsonValue =>
    type === "set" ? item : Object.fromEntries(keys.map((key) => [key, memberOf(item, key) ?? null]));
  const identity = (item: JsonValue) => (type === "set" ? canonicalJson(item) : identityOf(item, keys));
  return (value, run, old) => {
    if (!Array.isArray(value)) return;
    const seconds = secondsIn(value.map(identity));
    // What had duplicates before the rule may keep them, and others beside them.
    if (seconds.length === 0 || (Array.isArray(old) && secondsIn(old.map(identity)).length > 0)) return;
    for (const index of seconds) report(run, fieldError.duplicate([...run.path, index], shown(value[index] ?? null)));
  };
}

/** `group/version` or `version`; a kind is a DNS label but for its capitals. */
const envelopeForms = {
  apiVersion: { pattern: /^[^/]*(?:\/[^/]*)?$/, detail: "must be a version, or a group and a version" },
  kind: {
    pattern: /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/i,
    detail: "may have mixed case, but must otherwise be a DNS label",
  },
};

/** An object inside an object must at least say what it is. */
function embeddedCheck(schema: Schema): Check | undefined {
  if (schema["x-kubernetes-embedded-resource"] !== true) return undefined;
  return (value, run) => {
    if (!isJsonObject(value)) return;
    for (const [name, form] of Object.entries(envelopeForms)) {
      const text = memberOf(value, name);
      const at = [...run.path, name];
      if (text === undefined) report(run, fieldError.required(at, "must not be empty"));
      else if (typeof text !== "string") report(run, fieldError.invalid(at, text, "must be a string"));
      else if (text === "") report(run, fieldError.invalid(at, text, "must not be empty"));
      else if (!form.pattern.test(text)) report(run, fieldError.invalid(at, text, form.detail));
    }
    const metadata = memberOf(value, "metadata");
    if (metadata !== undefined && !isJsonObject(metadata)) {
      report(run, fieldError.wrongType([...run.path, "metadata"], metadata, "must be an object"));
    }
  };
}

/** Junctors get no old value: they judge the whole, or an update could satisfy one half each time. */
function junctorChecks(schema: Schema, compile: CompileNode<Check>): readonly Check[] {
  const { allOf = [], anyOf, oneOf, not } = schema;
  const checks: Check[] = allOf.map((part) => {
    const check = lazily(compile, part);
    return (value, run) => check()(value, run);
  });
  const countMatches = (parts: readonly Schema[]) => {
    const alternatives = parts.map((part) => lazily(compile, part));
    return (value: JsonValue, run: ValidationRun) =>
      alternatives.filter((check) => matches(check(), value, run)).length;
  };
  const demand = (parts: readonly Schema[] | undefined, isEnough: (count: number) => boolean, detail: string) => {
    if (parts === undefined || parts.length === 0) return;
    const count = countMatches(parts);
    checks.push((value, run) => {
      if (!isEnough(count(value, run))) report(run, fieldError.invalid(run.path, value, detail));
    });
  };
  demand(anyOf, (count) => count > 0, "must match at least one of the schemas in anyOf");
  demand(oneOf, (count) => count === 1, "must match exactly one of the schemas in oneOf");
  demand(not === undefined ? undefined : [not], (count) => count === 0, "must not match the schema in not");
  return checks;
}

/** Whether a schema accepts the value; its errors are of no interest, but its pattern steps count. */
function matches(check: Check, value: JsonValue, { patternSteps, ruleBudget }: ValidationRun): boolean {
  const trial: ValidationRun = { path: [], errors: [], patternSteps, ruleBudget };
  check(value, trial);
  return trial.errors.length === 0;
}
