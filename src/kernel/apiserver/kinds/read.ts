import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

// Reading of objects whose types have been checked already: what is absent or of another type counts as absent.

/** The value at a path of member names; inherited members do not exist. */
export function valueAt(value: JsonValue | undefined, ...path: readonly string[]): JsonValue | undefined {
  let found = value;
  for (const name of path) found = isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  return found ?? undefined;
}

export function objectAt(value: JsonValue | undefined, ...path: readonly string[]): JsonObject | undefined {
  const found = valueAt(value, ...path);
  return isJsonObject(found) ? found : undefined;
}

/** The objects of a list; other items are left out. */
export function objectsAt(value: JsonValue | undefined, ...path: readonly string[]): readonly JsonObject[] {
  return listAt(value, ...path).filter(isJsonObject);
}

export function listAt(value: JsonValue | undefined, ...path: readonly string[]): readonly JsonValue[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** A text, or undefined when absent or empty. */
export function textAt(value: JsonValue | undefined, ...path: readonly string[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === "string" && found !== "" ? found : undefined;
}

export function numberAt(value: JsonValue | undefined, ...path: readonly string[]): number | undefined {
  const found = valueAt(value, ...path);
  return typeof found === "number" ? found : undefined;
}

export const isTrueAt = (value: JsonValue | undefined, ...path: readonly string[]): boolean =>
  valueAt(value, ...path) === true;

/** A shallow copy that may be changed. A spread does the same, but takes three times as long where its model is frozen. */
export function copyOf(object: JsonObject): Record<string, JsonValue | undefined> {
  const copy: Record<string, JsonValue | undefined> = {};
  for (const name of Object.keys(object)) {
    // Assignment to this one name would set the prototype.
    if (name === "__proto__") return { ...object };
    copy[name] = object[name];
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
      const { [name]: _removed, ...rest } = changed;
      changed = rest;
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

/** A copy with the member changed, when it is an object; the same object when the change changes nothing. */
export function mapMember(object: JsonObject, name: string, change: (member: JsonObject) => JsonObject): JsonObject {
  const member = objectAt(object, name);
  if (member === undefined) return object;
  const changed = change(member);
  return changed === member ? object : { ...object, [name]: changed };
}

/** A copy with every object of a list changed. */
export function mapItems(object: JsonObject, name: string, change: (item: JsonObject) => JsonObject): JsonObject {
  const list = listAt(object, name);
  const changed = list.map((item) => (isJsonObject(item) ? change(item) : item));
  return changed.some((item, index) => item !== list[index]) ? { ...object, [name]: changed } : object;
}

/** A scalar as text; empty for anything else. */
export const scalarText = (value: JsonValue | undefined): string =>
  value === undefined || value === null || typeof value === "object" ? "" : String(value);
