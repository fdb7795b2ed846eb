import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { applyJsonPatch, applyMergePatch, type JsonPatchError } from "#lib/json/index.ts";
import { ApiError, badRequest, invalid, tooLarge, unsupportedMediaType } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { applyStrategicMerge } from "./strategic-merge.ts";

/** The patches that are functions of the object alone; server-side apply needs the managers too. */
export type PatchType = "json" | "merge" | "strategic";

/** The Content-Type of server-side apply; a JSON document is YAML too. */
export const applyMediaType = "application/apply-patch+yaml";

/** The Content-Type of each, without parameters. */
export const patchMediaTypes: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

/** The Content-Types a kind takes, as a 415 lists them: strategic merge needs the merge keys that only built-in kinds have. */
export const acceptedPatchTypes = (resource: ServedResource): readonly string[] =>
  resource.mergeSchema === undefined
    ? [applyMediaType, patchMediaTypes.json, patchMediaTypes.merge]
    : [applyMediaType, patchMediaTypes.json, patchMediaTypes.merge, patchMediaTypes.strategic];

/**
 * Makes the function that patches an object of `resource`. Throws ApiError at once for what is wrong whatever the object is: a body of
 * the wrong shape (400), a type the kind does not take (415). The function itself is pure, may run several times (each time on the
 * newest object), and throws 400 for a patch that is malformed inside, 413 for more than `maxOperations` operations, and 422 when
 * the patch is right and this object does not fit: a failed `test`, a path that is not there. `name` is for those messages.
 */
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

/** RFC 6902, bounded: a patch of many operations is as cheap to send as it is dear to apply. */
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

/** What the patch can be blamed for is a bad request; what depends on the object is an invalid one. */
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

/** A patch may replace the root by anything; what comes out must still be an object. */
function expectObject(value: JsonValue): JsonObject {
  if (isJsonObject(value)) return value;
  throw badRequest("the patch turns the object into something that is not an object");
}
