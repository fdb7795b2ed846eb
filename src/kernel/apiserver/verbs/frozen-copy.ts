import type { JsonObject, JsonValue } from "#lib/base/index.ts";

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
  // A spread keeps the layout of its model, which is several times cheaper than adding member by member.
  const copy: Record<string, JsonValue | undefined> = { ...value };
  let isWhole = true;
  for (const name of Object.keys(copy)) {
    const member = copy[name];
    if (member === undefined) isWhole = false;
    // The member is the copy's own, so that even this assignment to "__proto__" sets no prototype.
    else if (typeof member === "object" || typeof member === "number") copy[name] = frozenCopy(member);
    else if (typeof member !== "string" && typeof member !== "boolean") frozenCopy(member);
  }
  return Object.freeze(isWhole ? copy : withoutUndefined(copy));
}

const withoutUndefined = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([, member]) => member !== undefined));
