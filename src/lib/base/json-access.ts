import { isJsonObject, type JsonObject, type JsonValue } from "./json-value.ts";

// Reading and copying of JSON whose shape is known but not typed: what is absent, null or of another type counts as
// absent. Paths are member names; lists are entered by the caller. All functions are O(path) or O(members of one
// object), none of them throws, and none changes what it is given, which may be frozen.

/** The value at a path of member names; null is undefined, and inherited members (`constructor`) do not exist. */
export function valueAt(value: JsonValue | undefined, ...path: readonly string[]): JsonValue | undefined {
  let found = value;
  for (const name of path) found = isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  return found ?? undefined;
}

/** The object at a path; lists are no objects. */
export function objectAt(value: JsonValue | undefined, ...path: readonly string[]): JsonObject | undefined {
  const found = valueAt(value, ...path);
  return isJsonObject(found) ? found : undefined;
}

/** The objects of the list at a path, in order. Other items are left out, so indexes may differ. */
export function objectsAt(value: JsonValue | undefined, ...path: readonly string[]): readonly JsonObject[] {
  return listAt(value, ...path).filter(isJsonObject);
}

/** The list at a path; empty when there is none. */
export function listAt(value: JsonValue | undefined, ...path: readonly string[]): readonly JsonValue[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** A text, or undefined when absent or empty. */
export function textAt(value: JsonValue | undefined, ...path: readonly string[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === "string" && found !== "" ? found : undefined;
}

/** The texts of the list at a path, in order; other items are left out. */
export const textsAt = (value: JsonValue | undefined, ...path: readonly string[]): readonly string[] =>
  listAt(value, ...path).filter((item) => typeof item === "string");

/** The number at a path; texts that look like one do not count. */
export function numberAt(value: JsonValue | undefined, ...path: readonly string[]): number | undefined {
  const found = valueAt(value, ...path);
  return typeof found === "number" ? found : undefined;
}

/** True only for `true` itself: absent is false, as for every optional boolean of Kubernetes. */
export const isTrueAt = (value: JsonValue | undefined, ...path: readonly string[]): boolean =>
  valueAt(value, ...path) === true;
