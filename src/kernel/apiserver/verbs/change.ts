import { deepFreeze, isJsonObject, jsonEquals, type JsonObject } from "#lib/base/index.ts";
import type { ServedResource, Validation } from "../kinds/served-resource.ts";
import type { Entry, StoreKey, Transaction } from "../store/store.ts";
import { checkSize, tidyMetadata } from "./admission.ts";
import type { Answer } from "./answer.ts";
import type { ApiContext } from "./context.ts";
import {
  finalizersOf,
  isTerminating,
  metadataOf,
  metaNumber,
  metaText,
  withMetadata,
  withoutRevision,
} from "./metadata.ts";
import { checkMetadata, checkMetadataUpdate } from "./metadata-rules.ts";
import { specFinalizers } from "./namespace-rules.ts";
import type { WriteRequest } from "./options.ts";
import { invalid, invalidValue, notFound, required, staleRevision, uidMismatch } from "./refusals.ts";
import { keyFor, viewOf } from "./storage-view.ts";

/** The part of an object a request writes to. */
export type Endpoint = "main" | "status" | "finalize";

/** Turns the stored object into the wanted one; runs inside the critical section and must not wait. */
export interface Change {
  readonly resource: ServedResource;
  readonly namespace: string;
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly request: WriteRequest;
  /** A PUT replaces what it read, so kinds may insist on its resourceVersion. */
  readonly replaces: boolean;
  compute(old: JsonObject): { readonly object: JsonObject; readonly warnings: readonly string[] };
}

/** The one path of PUT and PATCH. Resolves when the outcome is durable; a change that changes nothing writes nothing. */
export function changeObject(context: ApiContext, change: Change): Promise<Answer> {
  const { resource, name, request } = change;
  const key = keyFor(resource, change.namespace, name);
  return context.store.write((transaction): Answer => {
    const entry = transaction.head(key);
    if (entry === undefined) throw notFound(resource.type, name);
    const old = viewOf(resource, entry);
    const computed = change.compute(old);
    checkPreconditions(change, computed.object, old);
    const next = prepare(change, computed.object, old);
    if (jsonEquals(next, old)) return { resource, entry, warnings: [...resource.warnings, ...computed.warnings] };
    const found = validate(change, next, old);
    if (found.causes.length > 0) throw invalid(resource.type, name, found.causes);
    const warnings = [...resource.warnings, ...computed.warnings, ...found.warnings];
    if (request.dryRun === true) return { resource, warnings, draft: deepFreeze(next) };
    return { resource, warnings, entry: writeNext(context, transaction, resource, key, next) };
  });
}

function checkPreconditions(change: Change, object: JsonObject, old: JsonObject): void {
  if (object["metadata"] === old["metadata"]) return;
  const { type, allowsUnconditionalUpdate } = change.resource;
  const uid = metaText(object, "uid");
  if (uid !== "" && uid !== metaText(old, "uid")) throw uidMismatch(type, change.name, uid, metaText(old, "uid"));
  const { resourceVersion: revision = "" } = metadataOf(object);
  const field = "metadata.resourceVersion";
  if (revision === "" || revision === null) {
    if (!change.replaces || allowsUnconditionalUpdate) return;
    throw invalid(type, change.name, [required(field, "must be specified for an update")]);
  }
  if (typeof revision !== "string" || !/^\d+$/.test(revision)) {
    throw invalid(type, change.name, [invalidValue(field, revision, "must be an unsigned integer as a string")]);
  }
  if (revision !== metaText(old, "resourceVersion")) throw staleRevision(type, change.name);
}

/** Server-owned members from the stored object, defaults, and the new generation. */
function prepare(change: Change, object: JsonObject, old: JsonObject): JsonObject {
  const { resource } = change;
  // Metadata that is the stored object's own is tidy and complete.
  const isSame = object["metadata"] === old["metadata"];
  const candidate = isSame ? object : withKeptMetadata(tidyMetadata(object), old);
  const prepared = prepareEndpoint(change, candidate, old);
  if (!resource.hasGeneration || !resource.changesGeneration(prepared, old)) return prepared;
  return withMetadata(prepared, { generation: (metaNumber(old, "generation") ?? 0) + 1 });
}

function prepareEndpoint(change: Change, candidate: JsonObject, old: JsonObject): JsonObject {
  const { resource } = change;
  switch (change.endpoint) {
    case "status":
      return resource.prepareForStatusUpdate(resource.withDefaults(candidate), old);
    case "finalize":
      return {
        ...old,
        spec: { ...(isJsonObject(old["spec"]) ? old["spec"] : {}), finalizers: specFinalizers(candidate) },
      };
    case "main":
      return resource.prepareForUpdate(resource.withDefaults(candidate), old);
  }
}

// Clients may leave these out; what they send must be what is stored, which checkMetadataUpdate sees to.
const keptWhenAbsent = [
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "namespace",
] as const;

function withKeptMetadata(object: JsonObject, old: JsonObject): JsonObject {
  const before = metadataOf(old);
  const after = metadataOf(object);
  const changes: Record<string, JsonObject[string]> = {};
  for (const member of keptWhenAbsent) {
    if ((after[member] ?? "") === "" && before[member] !== undefined) changes[member] = before[member];
  }
  // Never the client's: a generation it read may be an old one.
  if (after["generation"] !== before["generation"]) changes["generation"] = before["generation"];
  if (after["resourceVersion"] !== before["resourceVersion"]) changes["resourceVersion"] = before["resourceVersion"];
  return Object.keys(changes).length === 0 ? object : withMetadata(object, changes);
}

function validate(change: Change, next: JsonObject, old: JsonObject): Validation {
  const { resource } = change;
  if (next["metadata"] !== old["metadata"]) {
    const causes = [...checkMetadata(next, resource.type), ...checkMetadataUpdate(next, old)];
    if (causes.length > 0) return { causes, warnings: [] };
  }
  switch (change.endpoint) {
    case "status":
      return resource.validateStatusUpdate(next, old);
    case "finalize":
      return { causes: [], warnings: [] };
    case "main":
      return resource.validateUpdate(next, old);
  }
}

/** Stores the new state, or removes the object when it was only waiting for its last finalizer. */
export function writeNext(
  context: ApiContext,
  transaction: Transaction,
  resource: ServedResource,
  key: StoreKey,
  next: JsonObject,
): Entry {
  const bare = withoutRevision(next);
  const stored = resource.storage?.encode(bare) ?? bare;
  const done = isTerminating(next) && !isHeld(next) && (metaNumber(next, "deletionGracePeriodSeconds") ?? 0) === 0;
  const entry = done ? transaction.remove(key, stored) : transaction.put(key, stored);
  checkSize(entry.bytes.length, context.limits.maxObjectBytes);
  return entry;
}

/** True while a finalizer stands between the object and its removal. */
export const isHeld = (object: JsonObject): boolean =>
  finalizersOf(object).length > 0 || specFinalizers(object).length > 0;
