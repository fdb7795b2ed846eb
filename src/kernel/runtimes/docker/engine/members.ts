import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

// Members that are missing or of another type count as absent.

export function textOf(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === "string" ? value : "";
}

/** The engine writes null for empty. */
export function objectOf(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}

/** The objects of a list, which may be a member of the answer. */
export function listOf(answer: JsonValue | undefined, member?: string): readonly JsonObject[] {
  const list = member !== undefined && isJsonObject(answer) ? answer[member] : answer;
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}
