import { formatTime, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import { asksToForget, decodeManagers, encodeManagers, isSameOwnership, type Manager } from "../apply/managers.ts";
import type { Scope } from "../apply/field-set-of.ts";
import { typeNodeOf } from "../apply/type-node.ts";
import { soleOwner } from "../apply/sole-owner.ts";
import { changeOf, updateManagers } from "../apply/update-managers.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { ApiContext } from "./context.ts";
import { metadataOf, withMetadata } from "./metadata.ts";
import type { WriteRequest } from "./options.ts";

// Objects that this process creates have no owners until an apply (docs/decisions/0012-field-owners.md).

/** The manager of this process's writes. */
const ownManager = "slipway";

const managerOf = ({ fieldManager, program }: WriteRequest): string => fieldManager ?? program ?? ownManager;

export const writerOf = (resource: ServedResource, request: WriteRequest) => ({
  name: managerOf(request),
  apiVersion: apiVersionOf(resource.type),
});

export const scopeOf = (resource: ServedResource, endpoint: string): Scope => ({
  subresource: endpoint === "main" ? "" : endpoint,
  hasStatus: resource.subresources.includes("status"),
});

/** A new object, owned by its writer. `requested` is the managedFields of the body. */
export function withFirstOwners(
  context: ApiContext,
  resource: ServedResource,
  object: JsonObject,
  request: WriteRequest,
  requested: JsonValue | undefined,
): JsonObject {
  const given = decodeManagers(requested);
  const managers = given.ok && !asksToForget(requested) ? given.value : [];
  const isTracked = managers.length > 0 || request.fieldManager !== undefined || request.program !== undefined;
  if (!isTracked) return object;
  const type = typeNodeOf(resource);
  const scope = scopeOf(resource, "main");
  const writer = writerOf(resource, request);
  const now = formatTime(context.clock.now());
  if (managers.length > 0) {
    return withManagers(object, updateManagers({ live: undefined, next: object, type, managers, writer, scope, now }));
  }
  const owners = soleOwner({ object, type, writer, scope, now });
  return owners === undefined ? object : withMetadata(object, { managedFields: owners });
}

export interface Owned {
  readonly object: JsonObject;
  readonly warnings: readonly string[];
}

/** `next` is what will be stored, with the owners of `old`. */
export interface OwnedChange {
  readonly resource: ServedResource;
  readonly request: WriteRequest;
  readonly endpoint: string;
  readonly old: JsonObject;
  readonly next: JsonObject;
  /** The managedFields the client sent; the stored ones when it did not touch them. */
  readonly requested: JsonValue | undefined;
  readonly inSteps: boolean;
}

/** Gives what an update changed to its writer, at once or in steps. Returns `next` itself when nothing moves. */
export function* movingOwners(context: ApiContext, change: OwnedChange): Generator<undefined, Owned> {
  const { resource, request, endpoint, old, next, requested, inSteps } = change;
  const stored = metadataOf(old)["managedFields"];
  const wanted = endpoint === "main" ? wantedManagers(requested, stored) : storedManagers(stored);
  if (wanted.managers.length === 0) {
    const object = stored === undefined ? next : withMetadata(next, { managedFields: undefined });
    return { object, warnings: wanted.warnings };
  }
  const update = {
    live: old,
    next,
    type: typeNodeOf(resource),
    managers: wanted.managers,
    writer: writerOf(resource, request),
    scope: scopeOf(resource, endpoint),
    now: formatTime(context.clock.now()),
  };
  if (inSteps) yield;
  const found = changeOf(update);
  if (inSteps) yield;
  const changed = found();
  if (inSteps) yield;
  return { object: withManagers(next, updateManagers(update, changed)), warnings: wanted.warnings };
}

interface Wanted {
  readonly managers: readonly Manager[];
  readonly warnings: readonly string[];
}

/** kubectl writes the list to hand over its fields; an invalid list is ignored with a warning. */
function wantedManagers(requested: JsonValue | undefined, stored: JsonValue | undefined): Wanted {
  if (requested === undefined || requested === stored) return storedManagers(stored);
  if (asksToForget(requested)) return { managers: [], warnings: [] };
  const read = decodeManagers(requested);
  if (!read.ok) {
    const { managers } = storedManagers(stored);
    return { managers, warnings: [`metadata.managedFields is not changed: ${read.error}`] };
  }
  return read.value.length === 0 ? storedManagers(stored) : { managers: read.value, warnings: [] };
}

/** The stored owners, which are always readable. */
export function storedManagers(stored: JsonValue | undefined): Wanted {
  const read = decodeManagers(stored);
  return { managers: read.ok ? read.value : [], warnings: [] };
}

/** The object with these owners; the same object when unchanged. */
export function withManagers(object: JsonObject, managers: readonly Manager[]): JsonObject {
  const { managedFields: before } = metadataOf(object);
  const after = encodeManagers(managers, before);
  return after === before || (before !== undefined && jsonEquals(after, before))
    ? object
    : withMetadata(object, { managedFields: after });
}

/** An applied object with its owners; unchanged ones keep their times. */
export function withAppliedOwners(next: JsonObject, old: JsonObject, managers: readonly Manager[]): JsonObject {
  const before = storedManagers(metadataOf(old)["managedFields"]).managers;
  return isSameOwnership(before, managers) && jsonEquals(next, old) ? next : withManagers(next, managers);
}
