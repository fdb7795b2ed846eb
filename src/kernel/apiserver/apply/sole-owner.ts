import { deepFreeze, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { type FieldSet, isEmptySet } from "./field-set.ts";
import { fieldsOfNew, inScope, recorded, type Scope } from "./field-set-of.ts";
import { encodeManagers, isSameManager, type Manager, type ManagerId } from "./managers.ts";
import type { TypeNode } from "./type-node.ts";

interface Creation {
  readonly object: JsonObject;
  readonly type: TypeNode;
  readonly writer: { readonly name: string; readonly apiVersion: string };
  readonly scope: Scope;
  readonly now: string;
}

interface Newest {
  readonly added: FieldSet;
  readonly owner: Manager;
  readonly list: JsonValue | undefined;
}

// Objects created in a row are mostly alike. Sharing their owners halves the memory such an object takes.
const newest = new WeakMap<TypeNode, Newest>();

/** The `managedFields` of a new object, frozen: its writer owns everything. Undefined if there is nothing to own. */
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
