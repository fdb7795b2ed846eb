import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

// Typed access to `metadata` of untyped objects, and copies with one member changed. Nothing is edited in place.

const none: JsonObject = Object.freeze({});

export function metadataOf(object: JsonObject): JsonObject {
  const { metadata } = object;
  return isJsonObject(metadata) ? metadata : none;
}

/** A member of metadata that is a text; empty when it is absent or something else. */
export function metaText(object: JsonObject, name: string): string {
  const value = metadataOf(object)[name];
  return typeof value === "string" ? value : "";
}

export function metaNumber(object: JsonObject, name: string): number | undefined {
  const value = metadataOf(object)[name];
  return typeof value === "number" ? value : undefined;
}

export function finalizersOf(object: JsonObject): readonly string[] {
  const value: JsonValue | undefined = metadataOf(object)["finalizers"];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

export const isTerminating = (object: JsonObject): boolean => metaText(object, "deletionTimestamp") !== "";

/** The object with members of its metadata replaced; `undefined` removes one. */
export function withMetadata(object: JsonObject, changes: JsonObject): JsonObject {
  const metadata: Record<string, JsonValue | undefined> = { ...metadataOf(object), ...changes };
  for (const [name, value] of Object.entries(changes)) if (value === undefined) delete metadata[name];
  return { ...object, metadata };
}

/** The object without `metadata.resourceVersion`, the form in which it is stored. */
export function withoutRevision(object: JsonObject): JsonObject {
  const { resourceVersion: _revision, ...metadata } = metadataOf(object);
  return { ...object, metadata };
}
