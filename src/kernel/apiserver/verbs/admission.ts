import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { ApiError, apiVersionOf, badRequest, invalid } from "#kernel/model/index.ts";
import { detailOf } from "#lib/schema/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { metadataOf, metaText, withMetadata } from "./metadata.ts";
import type { WriteRequest } from "./options.ts";

export interface Admitted {
  readonly object: JsonObject;
  readonly warnings: readonly string[];
}

export function expectKind(body: unknown, resource: ServedResource): JsonObject {
  if (!isJsonObject(body)) {
    throw badRequest(`the body must be an object with apiVersion and kind, found ${nameOfType(body)}`);
  }
  expectText(body, "apiVersion", apiVersionOf(resource.type));
  expectText(body, "kind", resource.type.kind);
  const { metadata } = body;
  if (metadata !== undefined && metadata !== null && !isJsonObject(metadata)) {
    throw badRequest(`metadata must be an object, found ${nameOfType(metadata)}`);
  }
  return body;
}

/** A body of a built-in kind may omit apiVersion and kind, as Python clients do. Others must have them. */
export function namedKind(body: unknown, resource: ServedResource): JsonObject {
  if (!isJsonObject(body) || resource.custom || Object.keys(body).length === 0) return expectKind(body, resource);
  if (body["apiVersion"] && body["kind"]) return expectKind(body, resource);
  const named = {
    apiVersion: body["apiVersion"] || apiVersionOf(resource.type),
    kind: body["kind"] || resource.type.kind,
  };
  // Spread twice: the first time decides the order of the members.
  return expectKind({ ...named, ...body, ...named }, resource);
}

function expectText(body: JsonObject, member: string, wanted: string): void {
  const found = body[member];
  if (found === wanted) return;
  if (found === undefined || found === "") throw badRequest(`${member} is missing, expected "${wanted}"`);
  throw badRequest(`${member} in the body (${JSON.stringify(found)}) is not the one of the path ("${wanted}")`);
}

/** For messages: `a list`, `a string`, `nothing`. */
function nameOfType(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}

/** Refuses (400), warns about or drops unknown and duplicate fields. Skips parts of `known` (`prunedBefore`). */
export function admit(
  object: JsonObject,
  resource: ServedResource,
  request: WriteRequest,
  known?: JsonObject,
): Admitted {
  const { refusal, ...admitted } = judge(object, resource, request, known);
  if (refusal === undefined) return admitted;
  refuseUnreadable(admitted.object, resource);
  throw badRequest(refusal);
}

/** Like `admit` for the result of a patch: 422, as in Kubernetes. */
export function admitPatched(
  object: JsonObject,
  resource: ServedResource,
  name: string,
  request: WriteRequest,
  known?: JsonObject,
): Admitted {
  const { refusal, ...admitted } = judge(object, resource, request, known);
  if (refusal === undefined) return admitted;
  const errors = resource.unreadable(admitted.object);
  const strict = { reason: "FieldValueInvalid", field: "patch", message: `Invalid value: ${refusal}` };
  throw invalid(resource.type, name, errors.length > 0 ? errors : [strict]);
}

/** `refusal` is the finding of strict validation. */
function judge(object: JsonObject, resource: ServedResource, request: WriteRequest, known: JsonObject | undefined) {
  const pruned = resource.prune(object, known);
  const findings = [
    ...pruned.unknown.map((path) => `unknown field "${path}"`),
    ...(request.duplicateFields ?? []).map((path) => `duplicate field "${path}"`),
  ];
  // Kubernetes' default since 1.27.
  const mode = request.fieldValidation ?? "Warn";
  const isRefused = findings.length > 0 && mode === "Strict";
  return {
    object: pruned.object,
    warnings: mode === "Warn" ? findings : [],
    refusal: isRefused ? `strict decoding error: ${findings.join(", ")}` : undefined,
  };
}

/** 400 when a document does not even fit its kind. Values are not repeated: they may be secrets. */
export function refuseUnreadable(object: JsonObject, resource: Pick<ServedResource, "type" | "unreadable">): void {
  const errors = resource.unreadable(object);
  if (errors.length === 0) return;
  const { kind, version } = resource.type;
  const what = errors.map((error) => `${error.field} ${detailOf(error)}`).join(", ");
  throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${what}`);
}

/** Without members that clients cannot set and without empty collections. */
export function tidyMetadata(object: JsonObject): JsonObject {
  const metadata = metadataOf(object);
  let changes: Record<string, undefined> | undefined;
  for (const name of Object.keys(metadata)) {
    if (isKept(name, metadata[name])) continue;
    changes ??= {};
    changes[name] = undefined;
  }
  return changes === undefined ? object : withMetadata(object, changes);
}

/** Other members are left to the schema of ObjectMeta. */
function isKept(name: string, value: JsonValue | undefined): boolean {
  switch (name) {
    case "managedFields":
    case "selfLink":
      return false;
    case "annotations":
    case "labels":
      return value !== null && !(isJsonObject(value) && Object.keys(value).length === 0);
    case "finalizers":
    case "ownerReferences":
      return value !== null && !(Array.isArray(value) && value.length === 0);
    default:
      return true;
  }
}

/** Takes the namespace from the path; the body must not name another one. */
export function inNamespace(object: JsonObject, resource: ServedResource, namespace: string): JsonObject {
  const found = metaText(object, "namespace");
  if (!resource.type.namespaced) {
    return found === "" ? object : withMetadata(object, { namespace: undefined });
  }
  if (found === namespace) return object;
  if (found !== "") {
    throw badRequest(
      `the namespace of the object ("${found}") does not match the namespace of the path ("${namespace}")`,
    );
  }
  return withMetadata(object, { namespace });
}

/** The body must name the path's object or nothing. */
export function expectName(object: JsonObject, name: string): JsonObject {
  const found: JsonValue | undefined = metadataOf(object)["name"];
  if (found === name) return object;
  if (found === undefined || found === "") return withMetadata(object, { name });
  throw badRequest(`the name of the object (${JSON.stringify(found)}) does not match the name of the path ("${name}")`);
}

/** 413 for an object too large to be stored. `bytes` is its JSON size. */
export function checkSize(bytes: number, limit: number): void {
  if (bytes <= limit) return;
  throw new ApiError("RequestEntityTooLarge", `the object has ${bytes} bytes of JSON, the limit is ${limit}`);
}
