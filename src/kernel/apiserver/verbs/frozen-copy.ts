import type { JsonValue } from "#lib/base/index.ts";

/**
 * A value of the caller's as frozen JSON of our own, so that what is stored cannot be changed from outside. Branches that are
 * frozen already are shared; members that are undefined are left out, as JSON would. Throws for what JSON cannot hold.
 */
export function frozenCopy(value: unknown): JsonValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return value;
    throw new TypeError(`${value} is not a JSON number`);
  }
  if (typeof value !== "object") throw new TypeError(`a ${typeof value} is not a JSON value`);
  // Frozen objects come from the API or from constants; both are frozen to the bottom.
  if (Object.isFrozen(value)) return value as JsonValue;
  return Array.isArray(value) ? Object.freeze(value.map(frozenCopy)) : frozenObject(value);
}

function frozenObject(value: object): JsonValue {
  const copy: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const frozen = frozenCopy(member);
    // Assignment to this one name would set the prototype.
    if (name === "__proto__")
      Object.defineProperty(copy, name, { value: frozen, enumerable: true, configurable: true });
    else copy[name] = frozen;
  }
  return Object.freeze(copy);
}
