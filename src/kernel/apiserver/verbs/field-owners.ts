import { formatTime, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import { asksToForget, decodeManagers, encodeManagers, isSameOwnership, type Manager } from "../apply/managers.ts";
import type { Scope } from "../apply/scope.ts";
import { typeNodeOf } from "../apply/type-node.ts";
import { soleOwner } from "../apply/sole-owner.ts";
import { updateManagers } from "../apply/update-managers.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { ApiContext } from "./context.ts";
import { metadataOf, withMetadata } from "./metadata.ts";
import type { WriteRequest } from "./options.ts";

// `metadata.managedFields` around the write path. Objects that API clients create have owners from the beginning; those that this
// process creates for itself have none until somebody applies to them, and writing them costs nothing more
// (docs/decisions/0012-field-owners.md). An object without owners stays without when it is updated, as in Kubernetes.

/** The manager of writes by this process that name none. */
const ownManager = "slipway";

const managerOf = ({ fieldManager, program }: WriteRequest): string => fieldManager ?? program ?? ownManager;

/** The writer of a request to a kind, as entries name it. */
export const writerOf = (resource: ServedResource, request: WriteRequest) => ({
  name: managerOf(request),
  apiVersion: apiVersionOf(resource.type),
});

export const scopeOf = (resource: ServedResource, endpoint: string): Scope => ({
  subresource: endpoint === "main" ? "" : endpoint,
  hasStatus: resource.subresources.includes("status"),
});

/** A new object with its owners: the writer owns all of it. `requested` is what the body had as managedFields. */
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

/** A changed object with its owners, and warnings about owners the client wrote. */
export interface Owned {
  readonly object: JsonObject;
  readonly warnings: readonly string[];
}

/** What an update did: `next` has the owners that `old` has, and everything else as it will be stored. */
export interface OwnedChange {
  readonly resource: ServedResource;
  readonly request: WriteRequest;
  readonly endpoint: string;
  readonly old: JsonObject;
  readonly next: JsonObject;
  /** What the client would have as managedFields; the stored list when it did not touch them. */
  readonly requested: JsonValue | undefined;
}

/** Moves the ownership of what an update changed to its writer. The very `next` when nobody owns anything, or nothing moves. */
export function withOwnersMoved(context: ApiContext, change: OwnedChange): Owned {
  const { resource, request, endpoint, old, next, requested } = change;
  const stored = metadataOf(old)["managedFields"];
  const wanted = endpoint === "main" ? wantedManagers(requested, stored) : storedManagers(stored);
  if (wanted.managers.length === 0) {
    const object = stored === undefined ? next : withMetadata(next, { managedFields: undefined });
    return { object, warnings: wanted.warnings };
  }
  const owners = updateManagers({
    live: old,
    next,
    type: typeNodeOf(resource),
    managers: wanted.managers,
    writer: writerOf(resource, request),
    scope: scopeOf(resource, endpoint),
    now: formatTime(context.clock.now()),
  });
  return { object: withManagers(next, owners), warnings: wanted.warnings };
}

interface Wanted {
  readonly managers: readonly Manager[];
  readonly warnings: readonly string[];
}

/** Clients may write the list, which kubectl does to hand over its fields, or empty it; a wrong one is put aside with a warning. */
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

/** The owners an object has. What is stored was written here, so that it can be read. */
export function storedManagers(stored: JsonValue | undefined): Wanted {
  const read = decodeManagers(stored);
  return { managers: read.ok ? read.value : [], warnings: [] };
}

/** The object with these owners; the very object when it has them already. */
export function withManagers(object: JsonObject, managers: readonly Manager[]): JsonObject {
  const { managedFields: before } = metadataOf(object);
  const after = encodeManagers(managers, before);
  return after === before || (before !== undefined && jsonEquals(after, before))
    ? object
    : withMetadata(object, { managedFields: after });
}

/** An applied object with its owners. When the object stays as it is and the same managers own the same, the stored times stay too. */
export function withAppliedOwners(next: JsonObject, old: JsonObject, managers: readonly Manager[]): JsonObject {
  const before = storedManagers(metadataOf(old)["managedFields"]).managers;
  return isSameOwnership(before, managers) && jsonEquals(next, old) ? next : withManagers(next, managers);
}
