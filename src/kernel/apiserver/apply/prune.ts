import type { JsonArray, JsonObject, JsonValue } from "#lib/base/index.ts";
import { fieldNameOf } from "./elements.ts";
import { childElements, type FieldSet, isMember, leaf } from "./field-set.ts";
import type { TypeNode } from "./type-node.ts";
import { elementOf, isGranular, isTracked, memberOf, setMember } from "./values.ts";

// Unlike in Kubernetes, an item stays, with its key, when somebody owns a field of it.

/**
 * Removes from `merged` what its manager declared last time (`last`) and nobody declares or owns now (`owned`). A place
 * that nobody owns goes with its content, such as defaults; one that stays loses only what was declared in it. Emptied
 * objects and lists go unless owned; items keep their keys. Returns `merged` when nothing goes.
 */
export const prune = (merged: JsonObject, last: FieldSet, owned: FieldSet, type: TypeNode): JsonObject =>
  pruneMembers(merged, last, owned, type, []);

/** `owned` is undefined where nobody owns anything. */
function pruneValue(
  value: JsonValue,
  last: FieldSet,
  owned: FieldSet | undefined,
  type: TypeNode,
  keys: readonly string[] = [],
): JsonValue {
  if (isGranular(value, type)) return pruneMembers(value, last, owned, type, keys);
  return isTracked(value, type) ? pruneItems(value, last, owned, type) : value;
}

/** `keys` are members that always stay. */
function pruneMembers(
  object: JsonObject,
  last: FieldSet,
  owned: FieldSet | undefined,
  type: TypeNode,
  keys: readonly string[],
): JsonObject {
  const changes = new Map<string, JsonValue | undefined>();
  for (const element of childElements(last)) {
    const name = fieldNameOf(element);
    const value = name === undefined || keys.includes(name) ? undefined : memberOf(object, name);
    if (name === undefined || value === undefined) continue;
    const declared = last[element] ?? leaf;
    const theirs = owned?.[element];
    // Fields of the schema are declared through what is inside.
    const goes = theirs === undefined && (isMember(declared) || type.isNamed(name));
    const rest = goes ? undefined : pruneValue(value, declared, theirs, type.member(name));
    if (rest !== value) changes.set(name, rest === undefined || isGivenUp(rest, theirs) ? undefined : rest);
  }
  return changes.size === 0 ? object : withChanges(object, changes);
}

function pruneItems(list: JsonArray, last: FieldSet, owned: FieldSet | undefined, type: TypeNode): JsonArray {
  let hasChanged = false;
  const items: JsonValue[] = [];
  for (const item of list) {
    const element = elementOf(item, type);
    const declared = element === undefined ? undefined : last[element];
    const theirs = element === undefined ? undefined : owned?.[element];
    if (declared === undefined) items.push(item);
    else if (theirs === undefined && isMember(declared)) hasChanged = true;
    else {
      const rest = pruneValue(item, declared, theirs, type.items, type.keys);
      hasChanged ||= rest !== item;
      items.push(rest);
    }
  }
  return hasChanged ? items : list;
}

/** Emptied by pruning and not owned as empty. */
const isGivenUp = (rest: JsonValue, owned: FieldSet | undefined): boolean =>
  typeof rest === "object" &&
  rest !== null &&
  Object.keys(rest).length === 0 &&
  (owned === undefined || !isMember(owned));

function withChanges(object: JsonObject, changes: ReadonlyMap<string, JsonValue | undefined>): JsonObject {
  const copy: Record<string, JsonValue | undefined> = {};
  for (const name of Object.keys(object)) {
    const value = changes.has(name) ? changes.get(name) : object[name];
    if (value !== undefined) setMember(copy, name, value);
  }
  return copy;
}
