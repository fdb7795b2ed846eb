import type { JsonObject } from "#lib/base/index.ts";
import { comparing, type Comparison, isSame } from "./compare.ts";
import { fieldNameOf } from "./elements.ts";
import { fieldsOfNew, inScope, recorded, type Scope } from "./field-set-of.ts";
import { childElements, difference, type FieldSet, isEmptySet, leaf, union } from "./field-set.ts";
import { isSameManager, type Manager, type ManagerId, secondsOf, touched, withFields } from "./managers.ts";
import type { TypeNode } from "./type-node.ts";

// Runs at every write to an object with owners, so shared parts are skipped.

/** A write that is no apply; `live` is undefined for a new object. */
export interface Update {
  readonly live: JsonObject | undefined;
  readonly next: JsonObject;
  readonly type: TypeNode;
  readonly managers: readonly Manager[];
  readonly writer: { readonly name: string; readonly apiVersion: string };
  readonly scope: Scope;
  readonly now: string;
}

/** A changed field belongs to its writer alone, a removed one to nobody. Unchanged entries stay the same objects. */
export function updateManagers(update: Update, change = changeOf(update)()): readonly Manager[] {
  const { type, managers, writer, scope, now } = update;
  const fitted = fitManagers(managers, type);
  if (isSame(change)) return fitted;
  const id: ManagerId = { ...writer, operation: "Update", subresource: scope.subresource };
  const before = fitted.find((manager) => isSameManager(manager, id));
  // Unrecorded fields first: a new generation must not make the writer's set look changed.
  const taken = recorded(union(change.added, change.modified));
  const others = fitted
    .filter((manager) => manager !== before)
    .map((manager) => afterLoss(manager, taken, change.removed));
  const own = union(difference(before?.fields ?? leaf, change.removed), taken);
  const self = before === undefined ? { ...id, time: now, fields: own } : withFields(before, own);
  const all = [...others, self === before ? self : touched(self, now)];
  return capUpdaters(all.filter(({ fields }) => !isEmptySet(fields)));
}

/** What the write changes, found in two steps, for `updateManagers` as a third. */
export function changeOf({ live, next, type, scope }: Omit<Update, "managers" | "writer" | "now">): () => Comparison {
  const found = live === undefined ? () => creation(next, type) : comparing(live, next, type);
  return () => changeIn(found(), scope);
}

const creation = (object: JsonObject, type: TypeNode): Comparison => ({
  added: fieldsOfNew(object, type),
  modified: leaf,
  removed: leaf,
});

/** The managers with their sets fitted to the current schema. */
export function fitManagers(managers: readonly Manager[], type: TypeNode): readonly Manager[] {
  const fitted = managers.map((manager) => withFields(manager, fitToSchema(manager.fields, type)));
  return fitted.every((manager, index) => manager === managers[index]) ? managers : fitted;
}

/** A manager after others took some fields and some were removed. */
export const afterLoss = (manager: Manager, taken: FieldSet, removed: FieldSet): Manager =>
  withFields(manager, difference(difference(manager.fields, taken), removed));

export const changeIn = ({ added, modified, removed }: Comparison, scope: Scope): Comparison => ({
  added: inScope(added, scope),
  modified: inScope(modified, scope),
  removed: inScope(removed, scope),
});

/** Beyond this the oldest updaters are merged. Appliers never are: what they declared must stay known. */
export const maxUpdaters = 10;
export const ancientChanges = "ancient-changes";

/** Merges the oldest Update entries of each apiVersion until `maxUpdaters` remain. */
export function capUpdaters(managers: readonly Manager[]): readonly Manager[] {
  const updaters = managers.filter(({ operation }) => operation === "Update");
  if (updaters.length <= maxUpdaters) return managers;
  const byAge = [...updaters].sort((a, b) => secondsOf(a) - secondsOf(b) || compareNames(a, b));
  const kept = new Set(managers);
  const firsts = new Map<string, Manager>();
  const buckets = new Map<string, Manager>();
  for (const manager of managers)
    if (isSameManager(manager, bucketOf(manager))) buckets.set(manager.apiVersion, manager);
  let surplus = updaters.length - maxUpdaters;
  for (const updater of byAge) {
    if (surplus === 0) break;
    const first = firsts.get(updater.apiVersion);
    if (first === undefined) {
      firsts.set(updater.apiVersion, updater);
      continue;
    }
    const found = buckets.get(updater.apiVersion) ?? first;
    const other = found === updater ? first : updater;
    const joined = join(found, other);
    kept.delete(found);
    kept.delete(other);
    kept.add(joined);
    buckets.set(updater.apiVersion, joined);
    surplus--;
  }
  return [...kept];
}

const compareNames = (a: Manager, b: Manager): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

const bucketOf = ({ apiVersion }: Manager): ManagerId => ({
  name: ancientChanges,
  operation: "Update",
  apiVersion,
  subresource: "",
});

function join(found: Manager, other: Manager): Manager {
  const fields = union(found.fields, other.fields);
  const time = secondsOf(other) < secondsOf(found) ? found.time : other.time;
  return { ...bucketOf(found), time, fields };
}

// Frozen sets found to fit a schema.
const fitting = new WeakMap<TypeNode, WeakSet<FieldSet>>();

/** Fits a set to the schema: if a list or object became atomic, owners of parts own it. Returns an equal set itself. */
export function fitToSchema(set: FieldSet, type: TypeNode): FieldSet {
  const known = fitting.get(type);
  if (known?.has(set) === true) return set;
  const fitted = fitNode(set, type);
  if (fitted === set && Object.isFrozen(set)) {
    if (known === undefined) fitting.set(type, new WeakSet([set]));
    else known.add(set);
  }
  return fitted;
}

function fitNode(node: FieldSet, type: TypeNode): FieldSet {
  let changed: Record<string, FieldSet> | undefined;
  for (const element of childElements(node)) {
    const child = node[element] ?? leaf;
    const name = fieldNameOf(element);
    if ((name === undefined ? type.lists : type.objects) === "atomic") return leaf;
    const fitted = fitNode(child, name === undefined ? type.items : type.member(name));
    if (fitted === child) continue;
    changed ??= { ...node };
    changed[element] = fitted;
  }
  return changed ?? node;
}
