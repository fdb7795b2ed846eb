import { isJsonObject, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";

/** Applies a merge patch (RFC 7386). Changes neither argument; unpatched branches are shared with the target. */
export function applyMergePatch(target: JsonValue, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch;
  const merged = new Map(isJsonObject(target) ? Object.entries(target) : []);
  for (const [key, change] of Object.entries(patch)) {
    if (change === undefined) continue;
    if (change === null) merged.delete(key);
    else merged.set(key, applyMergePatch(merged.get(key) ?? null, change));
  }
  // fromEntries defines own members, so that "__proto__" is an ordinary key.
  return Object.fromEntries(merged);
}

/** The smallest merge patch from `before` to `after`, undefined if equal. Null members of `after` count as absent. */
export function createMergePatch(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const changes: [string, JsonValue][] = [];
  for (const key of Object.keys(before)) {
    if (present(before, key) !== undefined && present(after, key) === undefined) changes.push([key, null]);
  }
  for (const key of Object.keys(after)) {
    const change = memberChange(present(before, key), present(after, key));
    if (change !== undefined) changes.push([key, change]);
  }
  return changes.length === 0 ? undefined : Object.fromEntries(changes);
}

function memberChange(was: JsonValue | undefined, is: JsonValue | undefined): JsonValue | undefined {
  if (is === undefined || (was !== undefined && jsonEquals(was, is))) return undefined;
  if (!isJsonObject(is)) return is;
  if (isJsonObject(was)) return createMergePatch(was, is);
  // RFC 7386 merges into an empty object here, which also drops nulls: say what will be stored.
  return applyMergePatch({}, is);
}

/** A member's value; null counts as absent, because a merge patch can only remove it. */
function present(object: JsonObject, key: string): JsonValue | undefined {
  return (Object.hasOwn(object, key) ? object[key] : undefined) ?? undefined;
}
