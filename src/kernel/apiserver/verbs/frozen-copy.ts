import { isJsonObject, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";

/**
 * A value of the caller's as frozen JSON of our own, so that what is stored cannot be changed from outside. Branches that are
 * frozen already are shared; members that are undefined are left out, as JSON would. Throws for what JSON cannot hold.
 *
 * Every branch that says what `old` says in its place becomes that very branch of `old`, frozen JSON itself. Most of an update
 * is what was stored before: shared, it takes no memory of its own while both revisions are retained, and all that follows
 * (pruning, defaults, validation, comparison, encoding) sees by identity that there is nothing to do. `{a: [1], b: 2}` over
 * `{a: [1], b: 1}` is a new object with the old `a`.
 */
export function frozenCopy(value: unknown, old?: JsonValue): JsonValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return value;
    throw new TypeError(`${value} is not a JSON number`);
  }
  if (typeof value !== "object") throw new TypeError(`a ${typeof value} is not a JSON value`);
  if (old !== undefined && jsonEquals(value, old)) return old;
  // Frozen objects come from the API or from constants; both are frozen to the bottom.
  if (Object.isFrozen(value)) return value as JsonValue;
  if (!Array.isArray(value)) return frozenObject(value, isJsonObject(old) ? old : none);
  const before: readonly JsonValue[] = Array.isArray(old) ? old : [];
  return Object.freeze(value.map((item, index) => frozenCopy(item, before[index])));
}

const none: JsonObject = Object.freeze({});

// Member by member and not by a spread: V8 keeps no transition to the frozen layout of a spread's result, so that freezing one
// takes 0.7 us instead of 0.2 (measured on Node 20).
function frozenObject(value: object, old: JsonObject): JsonValue {
  const copy: Record<string, JsonValue> = {};
  for (const name of Object.keys(value)) {
    const member: unknown = Reflect.get(value, name);
    if (member === undefined) continue;
    // What `old` inherits must not be taken for its member.
    const own = frozenCopy(member, Object.hasOwn(old, name) ? old[name] : undefined);
    if (name !== "__proto__") copy[name] = own;
    // Assignment to this one name would set the prototype.
    else Object.defineProperty(copy, name, { value: own, enumerable: true });
  }
  return Object.freeze(copy);
}
