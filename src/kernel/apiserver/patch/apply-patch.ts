import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { applyJsonPatch, applyMergePatch, type JsonPatchError, jsonPatchParts } from "#lib/json/index.ts";
import { ApiError, badRequest, invalid, tooLarge, unsupportedMediaType } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { applyStrategicMerge } from "./strategic-merge.ts";

/** The patches that depend on the object alone; server-side apply needs the managers too. */
export type PatchType = "json" | "merge" | "strategic";

/** The Content-Type of server-side apply. */
export const applyMediaType = "application/apply-patch+yaml";

export const patchMediaTypes: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

/** The Content-Types a kind accepts: strategic merge needs the merge keys of built-in kinds. */
export const acceptedPatchTypes = (resource: ServedResource): readonly string[] =>
  resource.mergeSchema === undefined
    ? [applyMediaType, patchMediaTypes.json, patchMediaTypes.merge]
    : [applyMediaType, patchMediaTypes.json, patchMediaTypes.merge, patchMediaTypes.strategic];

/** A pure, repeatable patcher. Throws 400 or 415 at once; the patcher throws 400, 413 (`maxOperations`) or 422. */
export function patcherOf(
  resource: ServedResource,
  type: PatchType,
  body: JsonValue,
  name: string,
  maxOperations: number,
): (object: JsonObject) => JsonObject {
  if (type === "json") return (object) => jsonPatched(resource, object, body, name, maxOperations);
  if (!isJsonObject(body)) throw badRequest(`a ${type} patch must be an object`);
  if (type === "merge") return (object) => expectObject(applyMergePatch(object, body));
  const { mergeSchema } = resource;
  if (mergeSchema === undefined) throw unsupportedMediaType(patchMediaTypes.strategic, acceptedPatchTypes(resource));
  return (object) => {
    const merged = applyStrategicMerge(object, body, mergeSchema);
    if (merged.ok) return merged.value;
    throw badRequest(`the patch cannot be applied: ${merged.error.path}: ${merged.error.message}`);
  };
}

/**
 * A patcher that has applied a JSON patch to `object`, pausing between its parts, and applies it again only to another
 * object. What is wrong with the patch is left for then.
 */
export async function patchedAhead(
  patcher: (object: JsonObject) => JsonObject,
  object: JsonObject,
  body: JsonValue,
  maxOperations: number,
  pause: () => Promise<void>,
): Promise<(object: JsonObject) => JsonObject> {
  const parts = jsonPatchParts(object, body, { maxOperations });
  let part = parts.next();
  while (part.done !== true) {
    await pause();
    part = parts.next();
  }
  const { value } = part;
  return (given) => (given === object && value.ok ? expectObject(value.value) : patcher(given));
}

/** RFC 6902, bounded: many operations are cheap to send and expensive to apply. */
function jsonPatched(
  resource: ServedResource,
  object: JsonObject,
  body: JsonValue,
  name: string,
  maxOperations: number,
): JsonObject {
  const patched = applyJsonPatch(object, body, { maxOperations });
  if (patched.ok) return expectObject(patched.value);
  throw jsonPatchRefusal(resource, name, patched.error);
}

/** A malformed patch is a bad request; one that does not fit the object is invalid. */
function jsonPatchRefusal(resource: ServedResource, name: string, { kind, message }: JsonPatchError): ApiError {
  switch (kind) {
    case "invalid":
      return badRequest(message);
    case "limit":
      return tooLarge(message);
    case "path":
    case "test":
      return invalid(resource.type, name, [{ reason: "FieldValueInvalid", field: "patch", message }]);
  }
}

function expectObject(value: JsonValue): JsonObject {
  if (isJsonObject(value)) return value;
  throw badRequest("the patch turns the object into something that is not an object");
}
