import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { copyOf } from "#kernel/specs/index.ts";

const none: JsonObject = Object.freeze({});

/** Empty when missing or not an object, which admission refuses. */
export function metadataOf(object: JsonObject): JsonObject {
  const { metadata } = object;
  return isJsonObject(metadata) ? metadata : none;
}

/** A text in the metadata, or "". */
export function metaText(object: JsonObject, name: string): string {
  const value = metadataOf(object)[name];
  return typeof value === "string" ? value : "";
}

export function metaNumber(object: JsonObject, name: string): number | undefined {
  const value = metadataOf(object)[name];
  return typeof value === "number" ? value : undefined;
}

/** Items that are not texts are left out; validation refuses them. */
export function finalizersOf(object: JsonObject): readonly string[] {
  const value: JsonValue | undefined = metadataOf(object)["finalizers"];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** Deleted, but held by a finalizer or a grace period. */
export const isTerminating = (object: JsonObject): boolean => metaText(object, "deletionTimestamp") !== "";

/** The object with members of its metadata replaced; `undefined` removes one. */
export function withMetadata(object: JsonObject, changes: JsonObject): JsonObject {
  const before = metadataOf(object);
  const metadata: Record<string, JsonValue | undefined> = {};
  // Deleting members afterwards would make the object slow.
  for (const name of Object.keys(before)) {
    const value = name in changes ? changes[name] : before[name];
    if (value !== undefined) metadata[name] = value;
  }
  for (const name of Object.keys(changes)) if (changes[name] !== undefined) metadata[name] = changes[name];
  const copy = copyOf(object);
  copy["metadata"] = metadata;
  return copy;
}

/** The object without `metadata.resourceVersion`, as stored. */
export function withoutRevision(object: JsonObject): JsonObject {
  const members = metadataOf(object);
  const metadata: Record<string, JsonValue | undefined> = {};
  for (const name of Object.keys(members)) if (name !== "resourceVersion") metadata[name] = members[name];
  const copy = copyOf(object);
  copy["metadata"] = metadata;
  return copy;
}
