import type { JsonArray, JsonObject, JsonValue } from "#lib/base/index.ts";
import { fieldNameOf } from "./elements.ts";
import { childElements, type FieldSet, isMember, leaf } from "./field-set.ts";
import type { TypeNode } from "./type-node.ts";
import { elementOf, isGranular, isTracked, memberOf, setMember } from "./values.ts";

// Kubernetes reaches the same in three passes over whole objects (remove all of the last set, add back what is owned, add back what
// was never declared). One walk along the last set does it, and touches nothing else. The one difference: an item that somebody else
// owns a field of stays, with its key; there it goes unless the item itself is owned.

/**
 * Takes out of `merged` what its manager declared last time and nobody declares or owns now: `last` is its former set, `owned` the
 * union of the sets of all others and of its new one. A place goes as a whole, with what nobody owns inside it (defaults, say), when
 * nobody owns it or anything in it; a place that stays loses only what was declared there. What `last` does not name stays. Objects
 * and lists that lose all they had go too, unless somebody owns them. An item that stays keeps its key fields. Linear in `last` and
 * the lists it reaches into; `merged` is not changed, and returned when nothing goes.
 */
export const prune = (merged: JsonObject, last: FieldSet, owned: FieldSet, type: TypeNode): JsonObject =>
  pruneMembers(merged, last, owned, type, []);

/** `owned` is undefined where nobody owns anything; `keys` as in pruneMembers. */
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

/** `keys` are members that stay whoever owns them. */
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
    // A field of the schema was declared through what is inside it.
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

/** Emptied by pruning, and nobody asked for it as such. */
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
