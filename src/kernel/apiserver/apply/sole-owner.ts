import { deepFreeze, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { type FieldSet, isEmptySet } from "./field-set.ts";
import { fieldsOfNew } from "./field-set-of.ts";
import { encodeManagers, isSameManager, type Manager, type ManagerId } from "./managers.ts";
import { inScope, recorded, type Scope } from "./scope.ts";
import type { TypeNode } from "./type-node.ts";

/** A creation: what is to be stored, and who writes it. */
interface Creation {
  readonly object: JsonObject;
  readonly type: TypeNode;
  readonly writer: { readonly name: string; readonly apiVersion: string };
  readonly scope: Scope;
  /** RFC 3339. */
  readonly now: string;
}

/** The owner of the object that was created last, and what all of it is. */
interface Newest {
  readonly added: FieldSet;
  readonly owner: Manager;
  readonly list: JsonValue | undefined;
}

// Of each kind. Objects that are created one after another are mostly alike: sharing their owners halves what such an object takes in
// memory, and what is shared is frozen, read and fitted to its schema once.
const newest = new WeakMap<TypeNode, Newest>();

/**
 * The `managedFields` of a new object that came without owners: its writer owns all of it, as `updateManagers` would say. Frozen;
 * undefined when it has nothing that anybody could own.
 */
export function soleOwner({ object, type, writer, scope, now }: Creation): JsonValue | undefined {
  const added = fieldsOfNew(object, type);
  const known = newest.get(type);
  const isAlike = known !== undefined && jsonEquals(known.added, added);
  const id: ManagerId = { ...writer, operation: "Update", subresource: scope.subresource };
  if (isAlike && known.owner.time === now && isSameManager(known.owner, id)) return known.list;
  const fields = isAlike ? known.owner.fields : deepFreeze(recorded(inScope(added, scope)));
  const owner: Manager = { ...id, time: now, fields };
  const list = isEmptySet(fields) ? undefined : deepFreeze(encodeManagers([owner]));
  newest.set(type, { added, owner, list });
  return list;
}
