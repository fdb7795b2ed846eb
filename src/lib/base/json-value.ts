/** Any JSON value. Objects and arrays are read-only: data is shared, never edited in place. */
export type JsonValue = string | number | boolean | null | JsonArray | JsonObject;
export type JsonArray = readonly JsonValue[];
/** A member with the value `undefined` counts as absent everywhere: it is not written, not equal to null, not iterated over. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** Whether a value is a JSON object: neither null nor an array. Looks at nothing inside. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Freezes a value and everything inside it, in place, and returns it. Costs one visit per node; already frozen branches are
 * not visited again, so that whoever freezes by hand must freeze all the way down. Recurses as deep as the value nests.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  if (Array.isArray(value)) for (const item of value) deepFreeze(item);
  else for (const name in value) deepFreeze(value[name]);
  return value;
}

/** Structural equality of JSON values; `undefined` members count as absent. Allocates nothing: it is part of every write. */
export function jsonEquals(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && itemsEqual(a, b);
  return isJsonObject(a) && isJsonObject(b) && membersEqual(a, b);
}

function itemsEqual(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (!jsonEquals(a[index], b[index])) return false;
  return true;
}

// Plain objects have no enumerable members but their own; what `b` inherits (`__proto__`) must not be taken for a member.
function membersEqual(a: JsonObject, b: JsonObject): boolean {
  let surplus = 0;
  for (const name in a) {
    const value = a[name];
    if (value === undefined) continue;
    if (!Object.hasOwn(b, name) || !jsonEquals(value, b[name])) return false;
    surplus--;
  }
  for (const name in b) if (b[name] !== undefined) surplus++;
  return surplus === 0;
}
