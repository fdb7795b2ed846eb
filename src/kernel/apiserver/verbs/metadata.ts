import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { copyOf } from "#kernel/specs/index.ts";

// Typed access to `metadata` of untyped objects, and copies with one member changed. Nothing is edited in place.

/** Stands for metadata that is not there; shared, hence frozen. */
const none: JsonObject = Object.freeze({});

/** Empty for an object that has none or whose metadata is no object: the refusal of such is admission's. */
export function metadataOf(object: JsonObject): JsonObject {
  const { metadata } = object;
  return isJsonObject(metadata) ? metadata : none;
}

/** A member of metadata that is a text; empty when it is absent or something else. */
export function metaText(object: JsonObject, name: string): string {
  const value = metadataOf(object)[name];
  return typeof value === "string" ? value : "";
}

/** A member of metadata that is a number. */
export function metaNumber(object: JsonObject, name: string): number | undefined {
  const value = metadataOf(object)[name];
  return typeof value === "number" ? value : undefined;
}

/** Items that are no texts are left out; validation refuses them. */
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
  // Its members are those ObjectMeta has; one that is deleted afterwards would make the object slow.
  for (const name of Object.keys(before)) {
    const value = name in changes ? changes[name] : before[name];
    if (value !== undefined) metadata[name] = value;
  }
  for (const name of Object.keys(changes)) if (changes[name] !== undefined) metadata[name] = changes[name];
  const copy = copyOf(object);
  copy["metadata"] = metadata;
  return copy;
}

/** The object without `metadata.resourceVersion`, the form in which it is stored. */
export function withoutRevision(object: JsonObject): JsonObject {
  const members = metadataOf(object);
  // Its members are those ObjectMeta has: pruning has left no other name.
  const metadata: Record<string, JsonValue | undefined> = {};
  for (const name of Object.keys(members)) if (name !== "resourceVersion") metadata[name] = members[name];
  const copy = copyOf(object);
  copy["metadata"] = metadata;
  return copy;
}
