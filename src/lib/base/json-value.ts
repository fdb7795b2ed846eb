/** Any JSON value. Objects and arrays are read-only: data is shared, never edited in place. */
export type JsonValue = string | number | boolean | null | JsonArray | JsonObject;
export type JsonArray = readonly JsonValue[];
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Freezes a value and everything inside it. Costs one visit per node; already frozen branches are not visited again. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}

/** Structural equality of JSON values; `undefined` members count as absent. */
export function jsonEquals(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => jsonEquals(item, b[index]));
  }
  if (Array.isArray(b) || !isJsonObject(a) || !isJsonObject(b)) return false;
  for (const key of Object.keys(a)) {
    if (a[key] !== undefined && !(Object.hasOwn(b, key) && jsonEquals(a[key], b[key]))) return false;
  }
  return Object.keys(b).every((key) => b[key] === undefined || (Object.hasOwn(a, key) && a[key] !== undefined));
}
