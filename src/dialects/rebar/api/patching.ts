import { isJsonObject, type JsonObject, jsonEquals, type JsonValue } from "#lib/base/index.ts";
import { applyJsonPatch, formatPointer, parsePointer } from "#lib/json/index.ts";
import { refusal, Refused } from "../failure.ts";
import { computed } from "../model/fields.ts";

/** Of the original, which clients show: for objects, and for maps of params and metadata. */
export type PatchWords = "Patch error" | "Patch failed to apply";

/** Applies a JSON patch. Throws 409 with the failing operation; nothing is changed. */
export function patched(
  value: JsonObject,
  patch: JsonValue,
  { model, key, words }: { readonly model: string; readonly key: string; readonly words: PatchWords },
): JsonValue {
  const result = applyJsonPatch(value, patch);
  if (result.ok) return result.value;
  const { kind, operation = 0, message } = result.error;
  const reason = kind === "test" ? "Test op failed." : message;
  throw new Refused(
    refusal(
      409,
      "PATCH",
      model,
      key,
      `${words} at line ${operation}: ${reason}`,
      `Patch: ${JSON.stringify(patch, null, 2)}`,
    ),
  );
}

/** What a patch may change, as pointers. A malformed one counts as the whole object. */
export function pointersOfPatch(patch: JsonValue): readonly string[] {
  if (!Array.isArray(patch)) return [];
  const operations: readonly JsonValue[] = patch;
  return operations.flatMap((operation) => {
    if (!isJsonObject(operation) || operation["op"] === "test") return [];
    const named = operation["op"] === "move" ? [operation["path"], operation["from"]] : [operation["path"]];
    return named.map((pointer) => (typeof pointer === "string" && parsePointer(pointer).ok ? pointer : ""));
  });
}

/** The pointers at which a whole new object differs from the old one; what is computed of it is ignored. */
export function changedPointers(old: JsonObject, sent: JsonObject): readonly string[] {
  return [...new Set([...Object.keys(old), ...Object.keys(sent)])].flatMap((name) => {
    const pointer = formatPointer([name]);
    if (computed.has(name) || jsonEquals(old[name], sent[name])) return [];
    const [before, after] = [old[name], sent[name]];
    if (!isJsonObject(before) || !isJsonObject(after)) return [pointer];
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((inner) =>
      jsonEquals(before[inner], after[inner]) ? [] : [pointer + formatPointer([inner])],
    );
  });
}
