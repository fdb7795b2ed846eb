import type { JsonObject } from "#lib/base/index.ts";
import { capUpdaters } from "./cap-managers.ts";
import { type Comparison, compare, isSame } from "./compare.ts";
import { difference, type FieldSet, isEmptySet, leaf, union } from "./field-set.ts";
import { fieldsOfNew } from "./field-set-of.ts";
import { isSameManager, type Manager, type ManagerId, touched, withFields } from "./managers.ts";
import { fitToSchema } from "./schema-change.ts";
import { inScope, recorded, type Scope } from "./scope.ts";
import type { TypeNode } from "./type-node.ts";

// Called at every write to an object that has owners, a controller's status write above all. Therefore: the comparison skips what both
// states share, sets are looked into only where something changed, and whatever stays the same keeps its identity up to the stored list.
// A status write that flips a Pod's conditions costs about 10 us here, and a write of an object without owners does not come here.

/** A write that is not an apply: what was stored, what is to be stored (undefined: nothing, an empty object), and who writes. */
export interface Update {
  readonly live: JsonObject | undefined;
  readonly next: JsonObject;
  readonly type: TypeNode;
  readonly managers: readonly Manager[];
  readonly writer: { readonly name: string; readonly apiVersion: string };
  readonly scope: Scope;
  /** RFC 3339. */
  readonly now: string;
}

/**
 * The owners after an update: whoever changes a field takes it from all others, what is gone has no owner. Entries that stay the same
 * are the same objects, the list itself too when nothing changes; the writer's time moves only when its set does. Costs what the
 * change costs to compare.
 */
export function updateManagers({ live, next, type, managers, writer, scope, now }: Update): readonly Manager[] {
  const change = changeIn(live === undefined ? creation(next, type) : compare(live, next, type), scope);
  const fitted = fitManagers(managers, type);
  if (isSame(change)) return fitted;
  const id: ManagerId = { ...writer, operation: "Update", subresource: scope.subresource };
  const before = fitted.find((manager) => isSameManager(manager, id));
  // Never recorded fields go first: a new generation must not make the writer's set look changed.
  const taken = recorded(union(change.added, change.modified));
  const others = fitted
    .filter((manager) => manager !== before)
    .map((manager) => afterLoss(manager, taken, change.removed));
  const own = union(difference(before?.fields ?? leaf, change.removed), taken);
  const self = before === undefined ? { ...id, time: now, fields: own } : withFields(before, own);
  const all = [...others, self === before ? self : touched(self, now)];
  return capUpdaters(all.filter(({ fields }) => !isEmptySet(fields)));
}

const creation = (object: JsonObject, type: TypeNode): Comparison => ({
  added: fieldsOfNew(object, type),
  modified: leaf,
  removed: leaf,
});

/** The managers with their sets fitted to today's schema; the very list when all fit. */
export function fitManagers(managers: readonly Manager[], type: TypeNode): readonly Manager[] {
  const fitted = managers.map((manager) => withFields(manager, fitToSchema(manager.fields, type)));
  return fitted.every((manager, index) => manager === managers[index]) ? managers : fitted;
}

/** A manager after others took some fields and some went. */
export const afterLoss = (manager: Manager, taken: FieldSet, removed: FieldSet): Manager =>
  withFields(manager, difference(difference(manager.fields, taken), removed));

/** A change as far as a write in this scope can make one. */
export const changeIn = ({ added, modified, removed }: Comparison, scope: Scope): Comparison => ({
  added: inScope(added, scope),
  modified: inScope(modified, scope),
  removed: inScope(removed, scope),
});
