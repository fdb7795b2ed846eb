import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { canonicalFormats } from "./formats.ts";
import type { Schema } from "./schema.ts";
import { type CompileNode, compileOnce, dereference, lazily, type ResolveRef } from "./walk.ts";

/** What a pruning run collects: where it is, and what it did not know. */
export interface PruneRun {
  readonly path: (string | number)[];
  readonly unknown: (readonly (string | number)[])[];
}

/** Returns the value without unknown members; the same one without any. Skips parts identical to those in `known`. */
export type Prune = (value: JsonValue, run: PruneRun, known?: JsonValue) => JsonValue;

/**
 * Compiles the pruning of a structural schema. What has a canonical form comes out in it: digits that the type cannot
 * hold are dropped as members are that it does not know. What should have one and cannot be read stays as it is. A null
 * in a list, or under a key of a map, becomes the default of what belongs there. Cost of a run is linear in the value.
 */
export const compilePrune = (schema: Schema, resolve?: ResolveRef): Prune =>
  compileOnce<Prune>((node, compile) => makePrune(node, compile, resolve), resolve)(schema);

/** For nodes that know everything below them: objects that preserve unknown fields and declare nothing. */
const keep: Prune = (value) => value;

/**
 * For nodes that know of no members: an object in the place of a text or a list loses all it has. What is wrong is that
 * it is an object, which validation says; its members are not told of besides.
 */
const strip: Prune = (value) => (isJsonObject(value) && Object.keys(value).length > 0 ? {} : value);
const memberless: ReadonlySet<string> = new Set(["array", "boolean", "integer", "number", "string"]);

/** Whether nothing that an object has in this place is known. */
const knowsNoMembers = (schema: Schema): boolean =>
  schema["x-kubernetes-preserve-unknown-fields"] !== true && memberless.has(schema.type ?? "");

function makePrune(schema: Schema, compile: CompileNode<Prune>, resolve: ResolveRef | undefined): Prune {
  const canonical = canonicalFormats.get(schema.format ?? "");
  // An amount may be a number, and comes out as a text.
  if (canonical !== undefined)
    return (value) =>
      typeof value === "string" || typeof value === "number" ? (canonical(String(value)) ?? value) : value;
  const members = memberPruner(schema, compile, resolve);
  const items = schema.items === undefined ? undefined : lazily(compile, schema.items);
  const preset = schema.items === undefined ? undefined : presetOf(schema.items, resolve);
  const others = knowsNoMembers(schema) ? strip : keep;
  if (members === undefined && items === undefined) return others;
  return (value, run, known) => {
    if (value === known) return value;
    if (Array.isArray(value)) return items === undefined ? value : pruneItems(value, items(), preset, run, known);
    return isJsonObject(value) && members !== undefined
      ? pruneMembers(value, members, run, known)
      : others(value, run, known);
  };
}

/** What null stands for, as Kubernetes reads it; undefined where it stands for itself, or for nothing. */
const presetOf = (schema: Schema, resolve: ResolveRef | undefined): JsonValue | undefined =>
  dereference(schema, resolve).nullable === true ? undefined : schema.default;

/** Compared with the items of `known` by place: a list that grew at its end shares all but the new ones. */
function pruneItems(
  list: readonly JsonValue[],
  prune: Prune,
  preset: JsonValue | undefined,
  run: PruneRun,
  known: JsonValue | undefined,
): JsonValue {
  if (preset === undefined && (prune === keep || (prune === strip && !list.some(isJsonObject)))) return list;
  const before: readonly JsonValue[] = Array.isArray(known) ? known : [];
  let changed = false;
  const items = list.map((item, index) => {
    run.path.push(index);
    const pruned = item === null && preset !== undefined ? preset : prune(item, run, before[index]);
    run.path.pop();
    changed ||= pruned !== item;
    return pruned;
  });
  return changed ? items : list;
}

/** What a member becomes: pruned, kept, or unknown. Null where it is not allowed is `preset`, or absent. */
type MemberRule =
  | { readonly nullable: boolean; readonly preset?: JsonValue | undefined; readonly prune: () => Prune }
  | "keep"
  | "unknown";

/** Copies only when something goes; what stays is shared with the argument. */
function pruneMembers(
  object: JsonObject,
  ruleOf: (name: string) => MemberRule,
  run: PruneRun,
  known: JsonValue | undefined,
): JsonObject {
  const before = isJsonObject(known) ? known : none;
  let kept: [string, JsonValue][] | undefined;
  let index = 0;
  const names = Object.keys(object);
  for (const name of names) {
    const value = object[name];
    // Most members are those of before, which are pruned. An inherited one is never the value: those are functions.
    const isKnown = value === undefined || value === before[name];
    const result = isKnown ? value : pruneMember(name, value, ruleOf(name), run, before[name]);
    if (result !== value) kept ??= names.slice(0, index).flatMap((earlier) => entryOf(object, earlier));
    if (result !== undefined) kept?.push([name, result]);
    index++;
  }
  // fromEntries defines own members, so that "__proto__" is an ordinary key.
  return kept === undefined ? object : Object.fromEntries(kept);
}

function entryOf(object: JsonObject, name: string): [string, JsonValue][] {
  const value = object[name];
  return value === undefined ? [] : [[name, value]];
}

const none: JsonObject = Object.freeze({});

/** Undefined drops the member. */
function pruneMember(
  name: string,
  value: JsonValue,
  rule: MemberRule,
  run: PruneRun,
  known: JsonValue | undefined,
): JsonValue | undefined {
  if (rule === "keep") return value;
  if (rule === "unknown") {
    run.unknown.push([...run.path, name]);
    return undefined;
  }
  if (value === null) return rule.nullable ? null : rule.preset;
  const prune = rule.prune();
  // Most members are scalars, and the path is for those that have something below them.
  if (prune === keep || (prune === strip && typeof value !== "object")) return value;
  run.path.push(name);
  const pruned = prune(value, run, known);
  run.path.pop();
  return pruned;
}

/** Undefined when the schema has nothing to say about members, so that values of it cost nothing. */
function memberPruner(
  schema: Schema,
  compile: CompileNode<Prune>,
  resolve: ResolveRef | undefined,
): ((name: string) => MemberRule) | undefined {
  const { additionalProperties: rest } = schema;
  const ruleOf = (child: Schema) => ({
    nullable: dereference(child, resolve).nullable === true,
    prune: lazily(compile, child),
  });
  const known = new Map<string, MemberRule>(
    Object.entries(schema.properties ?? {}).map(([name, child]) => [name, ruleOf(child)]),
  );
  if (schema["x-kubernetes-embedded-resource"] === true) {
    for (const name of ["apiVersion", "kind", "metadata"]) if (!known.has(name)) known.set(name, "keep");
  }
  // `false` refuses what it does not know, which it could not if that were dropped in silence.
  const preserves = schema["x-kubernetes-preserve-unknown-fields"] === true || typeof rest === "boolean";
  if (known.size === 0 && (preserves || (rest === undefined && schema.type !== "object"))) return undefined;
  // Kubernetes' order: a schema for other members, then preserving them, then dropping them.
  const others: MemberRule =
    typeof rest === "object" ? { ...ruleOf(rest), preset: presetOf(rest, resolve) } : preserves ? "keep" : "unknown";
  return (name) => known.get(name) ?? others;
}
