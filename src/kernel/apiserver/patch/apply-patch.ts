import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { applyJsonPatch, applyMergePatch, type JsonPatchError } from "#lib/json/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { badRequest, invalid, tooLarge, unsupportedMediaType } from "../verbs/refusals.ts";
import { applyStrategicMerge } from "./strategic-merge.ts";

export type PatchType = "json" | "merge" | "strategic";

export const patchMediaTypes: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

/** The patch types a kind takes: strategic merge needs the merge keys that only built-in kinds have. */
export const acceptedPatchTypes = (resource: ServedResource): readonly string[] =>
  resource.mergeSchema === undefined
    ? [patchMediaTypes.json, patchMediaTypes.merge]
    : [patchMediaTypes.json, patchMediaTypes.merge, patchMediaTypes.strategic];

/** Makes the function that patches an object of `resource`; refuses at once what is wrong whatever the object is. */
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
