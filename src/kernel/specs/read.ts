import { isJsonObject, type JsonObject, type JsonValue, listAt, objectAt, valueAt } from "#lib/base/index.ts";

// Reading and copying of JSON whose shape is known but not typed: what is absent, null or of another type counts as absent. Paths
// are member names; lists are entered by the caller. All functions are O(path) or O(members of one object), none of them throws,
// and none changes what it is given, which may be frozen.

/**
 * A shallow copy that may be changed, with all members but one. A spread, or a rest without that one, does the same, but takes three times
 * as long where its model is frozen; and an object that a member is deleted from is slow for good.
 */
export function copyOf(object: JsonObject, without?: string): Record<string, JsonValue | undefined> {
  const copy: Record<string, JsonValue | undefined> = {};
  for (const name of Object.keys(object)) {
    if (name === without) continue;
    const value = object[name];
    if (name !== "__proto__") copy[name] = value;
    // Assignment to this one name would set the prototype.
    else Object.defineProperty(copy, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return copy;
}

/** A copy with some members set; undefined removes one. The same object when nothing changes. `changes` has names from code only. */
export function withMembers(object: JsonObject, changes: JsonObject): JsonObject {
  let changed = object;
  for (const [name, value] of Object.entries(changes)) {
    if (value !== undefined) {
      if (changed[name] === value) continue;
      const copy = copyOf(changed);
      copy[name] = value;
      changed = copy;
    } else if (Object.hasOwn(changed, name)) {
      changed = copyOf(changed, name);
    }
  }
  return changed;
}

/** A copy in which members that are absent have these values; the same object when none was absent. */
export function withAbsent(object: JsonObject, presets: JsonObject): JsonObject {
  const missing = Object.entries(presets).filter(
    ([name, preset]) => preset !== undefined && valueAt(object, name) === undefined,
  );
  return missing.length === 0 ? object : { ...object, ...Object.fromEntries(missing) };
}

/**
 * As `withAbsent`, for the many members of Kubernetes' types that have no other value for "nothing was said" than the empty text or 0.
 * Where these mean something, such as a grace of 0 seconds, the types have a pointer, and `withAbsent` is right.
 */
export function withUnset(object: JsonObject, presets: JsonObject): JsonObject {
  const unset = Object.entries(presets).filter(([name, preset]) => {
    const value = valueAt(object, name);
    return value === undefined || value === (typeof preset === "string" ? "" : 0);
  });
  return withMembers(object, Object.fromEntries(unset));
}

/** A copy with the member changed, when it is an object; the same object when the change changes nothing. */
export function mapMember(object: JsonObject, name: string, change: (member: JsonObject) => JsonObject): JsonObject {
  const member = objectAt(object, name);
  if (member === undefined) return object;
  const changed = change(member);
  return changed === member ? object : { ...object, [name]: changed };
}

/** A copy with every object of a list changed, other items as they are; the same object when the change changes nothing. */
export function mapItems(object: JsonObject, name: string, change: (item: JsonObject) => JsonObject): JsonObject {
  const list = listAt(object, name);
  const changed = list.map((item) => (isJsonObject(item) ? change(item) : item));
  return changed.some((item, index) => item !== list[index]) ? { ...object, [name]: changed } : object;
}

/** A scalar as text, such as `true` or `1.5`; empty for anything else. */
export const scalarText = (value: JsonValue | undefined): string =>
  value === undefined || value === null || typeof value === "object" ? "" : String(value);
