import { isJsonObject, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";

/** Throws for what JSON cannot hold. Shares frozen branches, and those of `old` if equal: later steps skip these. */
export function frozenCopy(value: unknown, old?: JsonValue): JsonValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return value;
    throw new TypeError(`${value} is not a JSON number`);
  }
  if (typeof value !== "object") throw new TypeError(`a ${typeof value} is not a JSON value`);
  if (old !== undefined && jsonEquals(value, old)) return old;
  // Frozen objects come from the API or from constants; both are deeply frozen.
  if (Object.isFrozen(value)) return value as JsonValue;
  if (!Array.isArray(value)) return frozenObject(value, isJsonObject(old) ? old : none);
  const before: readonly JsonValue[] = Array.isArray(old) ? old : [];
  return Object.freeze(value.map((item, index) => frozenCopy(item, before[index])));
}

const none: JsonObject = Object.freeze({});

// Not a spread: freezing its result takes 0.7 us instead of 0.2 (Node 20).
function frozenObject(value: object, old: JsonObject): JsonValue {
  const copy: Record<string, JsonValue> = {};
  for (const name of Object.keys(value)) {
    const member: unknown = Reflect.get(value, name);
    if (member === undefined) continue;
    // Not what `old` inherits.
    const own = frozenCopy(member, Object.hasOwn(old, name) ? old[name] : undefined);
    if (name !== "__proto__") copy[name] = own;
    // Assigning to `__proto__` would set the prototype.
    else Object.defineProperty(copy, name, { value: own, enumerable: true });
  }
  return Object.freeze(copy);
}
