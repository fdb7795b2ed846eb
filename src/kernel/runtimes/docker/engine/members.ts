import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

// The engine's answers are read member by member: what is missing, or of another type than it should be, counts as not said.

/** A text member; empty when there is none. */
export function textOf(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === "string" ? value : "";
}

/** An object member; an empty one when there is none (the engine writes null for empty). */
export function objectOf(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}

/** The objects of a list, which may itself be a member of the answer, as that of volumes is. */
export function listOf(answer: JsonValue | undefined, member?: string): readonly JsonObject[] {
  const list = member !== undefined && isJsonObject(answer) ? answer[member] : answer;
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}
