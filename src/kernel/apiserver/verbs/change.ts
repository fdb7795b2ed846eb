import {
  deepFreeze,
  isJsonObject,
  jsonEquals,
  type JsonObject,
  type JsonValue,
  parseInstant,
} from "#lib/base/index.ts";
import { invalid, invalidValue, notFound, required, staleRevision, uidMismatch } from "#kernel/model/index.ts";
import type { Manager } from "../apply/managers.ts";
import { withMembers } from "#kernel/specs/index.ts";
import { withWriters } from "../authz/acts-for.ts";
import type { ServedResource, Validation } from "../kinds/served-resource.ts";
import type { Entry, StoreKey, Transaction } from "../store/store.ts";
import { checkSize, refuseUnreadable, tidyMetadata } from "./admission.ts";
import { withAllotment } from "./allotment.ts";
import type { Answer } from "./answer.ts";
import type { ApiContext } from "./context.ts";
import { type Owned, withAppliedOwners, withOwnersMoved } from "./field-owners.ts";
import { finalizersOf, isTerminating, metadataOf, metaNumber, metaText, withMetadata } from "./metadata.ts";
import { checkMetadata, checkMetadataUpdate } from "./metadata-rules.ts";
import { specFinalizers } from "./namespace-rules.ts";
import type { WriteRequest } from "./options.ts";
import { keyFor, prunedBefore, viewOf } from "./storage-view.ts";

/** The part of an object a request writes to; `whole` is the main part and the status, which only this process writes in one. */
export type Endpoint = "main" | "status" | "whole" | "finalize" | "scale";

/** Turns the stored object into the wanted one; runs inside the critical section and must not wait. */
export interface Change {
  readonly resource: ServedResource;
  readonly namespace: string;
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly request: WriteRequest;
  /** A PUT replaces what it read, so kinds may insist on its resourceVersion. */
  readonly replaces: boolean;
  /** `pruned` is the stored object too, when its kind's present schema has pruned it (`prunedBefore`). */
  compute(old: JsonObject, pruned: JsonObject | undefined): Computed;
}

export interface Computed {
  readonly object: JsonObject;
  readonly warnings: readonly string[];
  /** The owners after an apply, which knows them; those of other changes follow from what changes. */
  readonly managers?: readonly Manager[];
}

/** The one path of PUT and PATCH. Resolves when the outcome is durable; a change that changes nothing writes nothing. */
export function changeObject(context: ApiContext, change: Change): Promise<Answer> {
  const { resource, name, request } = change;
  const key = keyFor(resource, change.namespace, name);
  return context.store.write((transaction): Answer => {
    const entry = transaction.head(key);
    if (entry === undefined) throw notFound(resource.type, name);
    const old = viewOf(resource, entry);
    const pruned = prunedBefore(resource, entry);
    const computed = change.compute(old, pruned);
    checkPreconditions(change, computed.object, old);
    const next = prepare(change, computed.object, old);
    const owned = withOwners(context, change, computed, next, old);
    const known = [...resource.warnings, ...computed.warnings, ...owned.warnings];
    if (owned.object === next && jsonEquals(next, old)) return { resource, entry, warnings: known };
    const found = validate(change, owned.object, old);
    if (found.causes.length > 0) {
      // What was sent is a document, and no patch: that it cannot be read is told first.
      if (change.replaces || computed.managers !== undefined) refuseUnreadable(computed.object, resource);
      throw invalid(resource.type, name, found.causes);
    }
    request.permit?.(owned.object, old);
    const object = withAllotment(context, transaction, resource, owned.object, key);
    const warnings = [...known, ...found.warnings];
    if (request.dryRun === true) return { resource, warnings, draft: deepFreeze(object) };
    // What was sent has been pruned, and what is kept from the stored object if that was; else a look at all of it tells.
    const pruner = pruned !== undefined || resource.prune(next).object === next ? resource : undefined;
    return { resource, warnings, entry: writeNext(context, transaction, resource, key, object, pruner) };
  });
}

/** The prepared object with its owners. Most objects that this process writes have none, and then nothing is looked at. */
function withOwners(context: ApiContext, change: Change, computed: Computed, next: JsonObject, old: JsonObject): Owned {
  const { resource, request, endpoint } = change;
  if (computed.managers !== undefined) {
    return { object: withAppliedOwners(next, old, computed.managers), warnings: [] };
  }
  const stored = metadataOf(old)["managedFields"];
  const requested = metadataOf(computed.object)["managedFields"];
  if (stored === undefined && requested === undefined) return { object: next, warnings: [] };
  if (endpoint !== "whole") return withOwnersMoved(context, { resource, request, endpoint, old, next, requested });
  // What a writer owns of an object and what of its status are two entries, as if these were two writes.
  const main = withMembers(next, { status: old["status"] });
  const first = withOwnersMoved(context, { resource, request, endpoint: "main", old, next: main, requested });
  const before = first.object;
  const both = withMembers(before, { status: next["status"] });
  const owners = metadataOf(before)["managedFields"];
  const moved = { resource, request, endpoint: "status", old: before, next: both, requested: owners };
  return { ...withOwnersMoved(context, moved), warnings: first.warnings };
}

/**
 * 409 when the caller means another object of the name or another revision (S6), 422 for a PUT without revision of a kind that
 * wants one. Metadata that is the stored object's own has passed already.
 */
function checkPreconditions(change: Change, object: JsonObject, old: JsonObject): void {
  if (object["metadata"] === old["metadata"]) return;
  const { type, allowsUnconditionalUpdate } = change.resource;
  const uid = metaText(object, "uid");
  if (uid !== "" && uid !== metaText(old, "uid")) throw uidMismatch(type, change.name, uid, metaText(old, "uid"));
  const { resourceVersion: revision = "" } = metadataOf(object);
  const field = "metadata.resourceVersion";
  // No object has the revision 0, by which Kubernetes means none.
  if (revision === "" || revision === "0" || revision === null) {
    if (!change.replaces || allowsUnconditionalUpdate) return;
    throw invalid(type, change.name, [required(field, "must be specified for an update")]);
  }
  if (typeof revision !== "string" || !/^\d+$/.test(revision)) {
    throw invalid(type, change.name, [invalidValue(field, revision, "must be an unsigned integer as a string")]);
  }
  if (revision !== metaText(old, "resourceVersion")) throw staleRevision(type, change.name);
}

/**
 * The next state: defaults, what the endpoint leaves alone, and the metadata that is the server's. Its resourceVersion is the
 * stored object's, so that the two are equal when nothing changes; the store gives it its own.
 */
function prepare(change: Change, object: JsonObject, old: JsonObject): JsonObject {
  const { resource } = change;
  // Metadata that is the stored object's own is tidy.
  const sent = object["metadata"] === old["metadata"] ? object : tidyMetadata(object);
  const prepared = prepareEndpoint(change, sent, old);
  const isNew = resource.hasGeneration && resource.changesGeneration(prepared, old);
  return withKeptMetadata(prepared, old, isNew);
}

/** Each endpoint takes its own part of what was sent and everything else from the stored object. */
function prepareEndpoint(change: Change, candidate: JsonObject, old: JsonObject): JsonObject {
  const { resource } = change;
  switch (change.endpoint) {
    case "status":
      return resource.prepareForStatusUpdate(resource.withDefaults(candidate), old);
    case "whole":
      return resource.prepareForStatusUpdate(
        resource.withDefaults(candidate),
        prepareEndpoint({ ...change, endpoint: "main" }, candidate, old),
      );
    case "finalize":
      return {
        ...old,
        spec: { ...(isJsonObject(old["spec"]) ? old["spec"] : {}), finalizers: specFinalizers(candidate) },
      };
    case "main":
    case "scale":
      return withWriters(resource, resource.prepareForUpdate(resource.withDefaults(candidate), old), old, {
        writers: change.request.writers,
        replaces: change.replaces,
      });
  }
}

// Clients may leave these out, and may write an instant as they like: those that keep time in milliseconds send `…00.000Z`.
// Otherwise what they send must be what is stored, which checkMetadataUpdate sees to.
const keptWhenAbsent = [
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "namespace",
] as const;

/** One copy at most: this runs on every write. `isNew`: the change makes a new generation. */
function withKeptMetadata(object: JsonObject, old: JsonObject, isNew: boolean): JsonObject {
  const before = metadataOf(old);
  const after = metadataOf(object);
  if (after === before && !isNew) return object;
  const changes: Record<string, JsonObject[string]> = {};
  for (const member of keptWhenAbsent) {
    if (before[member] !== undefined && isLeftAsItWas(after[member], before[member])) changes[member] = before[member];
  }
  // Never the client's: a generation it read may be an old one.
  const generation = isNew ? (metaNumber(old, "generation") ?? 0) + 1 : before["generation"];
  if (after["generation"] !== generation) changes["generation"] = generation;
  if (before["managedFields"] !== undefined) changes["managedFields"] = before["managedFields"];
  if (after["resourceVersion"] !== before["resourceVersion"]) changes["resourceVersion"] = before["resourceVersion"];
  return Object.keys(changes).length === 0 ? object : withMetadata(object, changes);
}

/** Absent, or the same instant in other words. What is equal needs no change. */
function isLeftAsItWas(sent: JsonValue | undefined, stored: JsonValue): boolean {
  if ((sent ?? "") === "") return true;
  if (sent === stored || typeof sent !== "string" || typeof stored !== "string") return false;
  const instant = parseInstant(stored);
  return instant !== undefined && parseInstant(sent) === instant;
}

/** Metadata first: a kind's own rules count on labels and names that are what they say. */
function validate(change: Change, next: JsonObject, old: JsonObject): Validation {
  const { resource } = change;
  if (next["metadata"] !== old["metadata"]) {
    const causes = [...checkMetadata(next, resource.type, old), ...checkMetadataUpdate(next, old)];
    if (causes.length > 0) return { causes, warnings: [] };
  }
  switch (change.endpoint) {
    case "status":
      return resource.validateStatusUpdate(next, old);
    case "whole":
      // A definition's schema is about all of an object, so that one look is enough.
      return resource.custom ? resource.validateUpdate(next, old) : validatedTwice(resource, next, old);
    case "finalize":
      return { causes: [], warnings: [] };
    case "main":
    case "scale":
      return resource.validateUpdate(next, old);
  }
}

/** Built-in kinds ask other rules of a status. */
function validatedTwice(resource: ServedResource, next: JsonObject, old: JsonObject): Validation {
  const [main, status] = [resource.validateUpdate(next, old), resource.validateStatusUpdate(next, old)];
  return { causes: [...main.causes, ...status.causes], warnings: [...main.warnings, ...status.warnings] };
}

/**
 * Stores the new state, or removes the object when it was only waiting for its last finalizer. `pruner` is the kind whose
 * schema has pruned all of it, if one has.
 */
export function writeNext(
  context: ApiContext,
  transaction: Transaction,
  resource: ServedResource,
  key: StoreKey,
  next: JsonObject,
  pruner: ServedResource | undefined,
): Entry {
  const stored = resource.storage?.encode(next) ?? next;
  const done = isTerminating(next) && !isHeld(next) && (metaNumber(next, "deletionGracePeriodSeconds") ?? 0) === 0;
  const entry = done ? transaction.remove(key, stored) : transaction.put(key, stored, pruner);
  checkSize(entry.bytes.length, context.limits.maxObjectBytes);
  return entry;
}

/** True while a finalizer stands between the object and its removal. */
export const isHeld = (object: JsonObject): boolean =>
  finalizersOf(object).length > 0 || specFinalizers(object).length > 0;
