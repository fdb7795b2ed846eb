import { isJsonObject, type JsonObject, type JsonValue, listAt, objectAt, valueAt } from "#lib/base/index.ts";

// Copying of JSON whose shape is not typed: null and values of another type count as absent. No function throws or
// changes its arguments, which may be frozen.

/** A mutable shallow copy without one member. Three times as fast as a spread of a frozen object. */
export function copyOf(object: JsonObject, without?: string): Record<string, JsonValue | undefined> {
  const copy: Record<string, JsonValue | undefined> = {};
  for (const name of Object.keys(object)) {
    if (name === without) continue;
    const value = object[name];
    if (name !== "__proto__") copy[name] = value;
    // Assignment would set the prototype.
    else Object.defineProperty(copy, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return copy;
}

/** A copy with members set, or removed if undefined; the same object if nothing changes. Names come from code only. */
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

/** A copy with presets for absent members; the same object if none is absent. */
export function withAbsent(object: JsonObject, presets: JsonObject): JsonObject {
  const missing = Object.entries(presets).filter(
    ([name, preset]) => preset !== undefined && valueAt(object, name) === undefined,
  );
  return missing.length === 0 ? object : { ...object, ...Object.fromEntries(missing) };
}

/**
 * As `withAbsent`, but also for empty texts and 0, which mean "not set" in most of Kubernetes' types. Use `withAbsent`
 * where they have a meaning, such as a grace of 0 seconds.
 */
export function withUnset(object: JsonObject, presets: JsonObject): JsonObject {
  const unset = Object.entries(presets).filter(([name, preset]) => {
    const value = valueAt(object, name);
    return value === undefined || value === (typeof preset === "string" ? "" : 0);
  });
  return withMembers(object, Object.fromEntries(unset));
}

/** A copy with an object member changed; the same object if nothing changes. */
export function mapMember(object: JsonObject, name: string, change: (member: JsonObject) => JsonObject): JsonObject {
  const member = objectAt(object, name);
  if (member === undefined) return object;
  const changed = change(member);
  return changed === member ? object : { ...object, [name]: changed };
}

/** A copy with every object of a list changed; the same object if nothing changes. */
export function mapItems(object: JsonObject, name: string, change: (item: JsonObject) => JsonObject): JsonObject {
  const list = listAt(object, name);
  const changed = list.map((item) => (isJsonObject(item) ? change(item) : item));
  return changed.some((item, index) => item !== list[index]) ? { ...object, [name]: changed } : object;
}

/** A scalar as text, such as `true` or `1.5`; otherwise empty. */
export const scalarText = (value: JsonValue | undefined): string =>
  value === undefined || value === null || typeof value === "object" ? "" : String(value);
