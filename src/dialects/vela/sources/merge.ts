import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

/** Members that tell items of a list apart, the first that all items have. */
const keys = ["name", "type", "containerPort", "mountPath", "key"];

/**
 * Merges a patch into a value as Kubernetes' strategic merge does, for lists of any kind: items with a name or a type
 * merge with those of the same, other lists are replaced, null removes a member, `$patch: delete` an item.
 */
export function mergeByName(base: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (isJsonObject(patch)) return mergeObjects(isJsonObject(base) ? base : {}, patch);
  if (Array.isArray(patch) && Array.isArray(base)) return mergeLists(base, patch);
  return patch;
}

function mergeObjects(base: JsonObject, { $patch, ...patch }: JsonObject): JsonObject {
  const result: Record<string, JsonValue> = $patch === "replace" ? {} : Object.fromEntries(entriesOf(base));
  for (const [name, value] of entriesOf(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergeByName(result[name], value);
  }
  return result;
}

const entriesOf = (object: JsonObject): readonly (readonly [string, JsonValue])[] =>
  Object.entries(object).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));

function mergeLists(base: readonly JsonValue[], patch: readonly JsonValue[]): readonly JsonValue[] {
  const all = [...base, ...patch];
  const key = keys.find(
    (name) => all.length > 0 && all.every((item) => isJsonObject(item) && item[name] !== undefined),
  );
  if (key === undefined) return patch;
  const result = [...base];
  for (const item of patch) {
    if (!isJsonObject(item)) continue;
    const at = result.findIndex((other) => isJsonObject(other) && other[key] === item[key]);
    if (item["$patch"] === "delete") {
      if (at >= 0) result.splice(at, 1);
    } else if (at < 0) result.push(mergeByName(undefined, item));
    else result[at] = mergeByName(result[at], item);
  }
  return result;
}
