export type JsonValue = string | number | boolean | null | JsonArray | JsonObject;
export type JsonArray = readonly JsonValue[];
/** A member with the value `undefined` counts as absent everywhere. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Freezes a value deeply, in place, and returns it. Skips frozen branches, which must be deeply frozen. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  if (Array.isArray(value)) for (const item of value) deepFreeze(item);
  else for (const name in value) deepFreeze(value[name]);
  return value;
}

/** Structural equality; `undefined` members count as absent. Allocates nothing, as it is part of every write. */
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

// Inherited members of `b` (`__proto__`) must not count.
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
