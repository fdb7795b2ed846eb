import { isJsonObject, type JsonValue } from "#lib/base/index.ts";

/** Objects and lists merge by member and index, all else is replaced. `{}` and `null` of a list change nothing. */
export function merge(base: JsonValue | undefined, over: JsonValue): JsonValue {
  if (isJsonObject(base) && isJsonObject(over)) {
    const merged: Record<string, JsonValue | undefined> = { ...base };
    for (const [name, value] of Object.entries(over)) if (value !== undefined) merged[name] = merge(base[name], value);
    return merged;
  }
  if (!Array.isArray(base) || !Array.isArray(over)) return over;
  const [before, after]: readonly [readonly JsonValue[], readonly JsonValue[]] = [base, over];
  return Array.from({ length: Math.max(before.length, after.length) }, (_, index) => {
    const value = after[index];
    return value === undefined || value === null ? (before[index] ?? null) : merge(before[index], value);
  });
}
