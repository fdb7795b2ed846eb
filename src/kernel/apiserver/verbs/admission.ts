import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { ApiError, apiVersionOf } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { metadataOf, metaText, withMetadata } from "./metadata.ts";
import type { WriteRequest } from "./options.ts";
import { badRequest } from "./refusals.ts";

/** A decoded body, the fields its kind does not know taken out. */
export interface Admitted {
  readonly object: JsonObject;
  readonly warnings: readonly string[];
}

/** The body as an object of the kind the path names, or 400 naming what is missing or different. */
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

function expectText(body: JsonObject, member: string, wanted: string): void {
  const found = body[member];
  if (found === wanted) return;
  if (found === undefined || found === "") throw badRequest(`${member} is missing, expected "${wanted}"`);
  throw badRequest(`${member} in the body (${JSON.stringify(found)}) is not the one of the path ("${wanted}")`);
}

function nameOfType(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}

/**
 * Field validation: unknown and repeated fields are refused, warned about or dropped in silence, as the caller asked. What `old`, the
 * stored object, shares with this one is known already.
 */
export function admit(object: JsonObject, resource: ServedResource, request: WriteRequest, old?: JsonObject): Admitted {
  const pruned = resource.prune(object, old);
  const findings = [
    ...pruned.unknown.map((path) => `unknown field "${path}"`),
    ...(request.duplicateFields ?? []).map((path) => `duplicate field "${path}"`),
  ];
  const mode = request.fieldValidation ?? "Warn";
  if (findings.length > 0 && mode === "Strict") {
    throw badRequest(`strict decoding error: ${findings.join(", ")}`);
  }
  return { object: pruned.object, warnings: mode === "Warn" ? findings : [] };
}

const unkept = ["managedFields", "selfLink"] as const;
const maps = ["annotations", "labels"] as const;
const lists = ["finalizers", "ownerReferences"] as const;

/**
 * Metadata in the form in which it is kept: without what this server does not keep (field management is not served yet) and
 * without empty collections, which mean the same as none.
 */
export function tidyMetadata(object: JsonObject): JsonObject {
  const metadata = metadataOf(object);
  const dropped = [
    ...unkept.filter((member) => metadata[member] !== undefined),
    ...maps.filter((member) => metadata[member] === null || isEmptyMap(metadata[member])),
    ...lists.filter((member) => metadata[member] === null || isEmptyList(metadata[member])),
  ];
  if (dropped.length === 0) return object;
  return withMetadata(object, Object.fromEntries(dropped.map((member) => [member, undefined])));
}

const isEmptyMap = (value: JsonValue | undefined): boolean => isJsonObject(value) && Object.keys(value).length === 0;
const isEmptyList = (value: JsonValue | undefined): boolean => Array.isArray(value) && value.length === 0;

/** Takes the namespace from the path; a body that names another one is a mistake. */
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

/** The body names the object of the path or nothing. */
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
