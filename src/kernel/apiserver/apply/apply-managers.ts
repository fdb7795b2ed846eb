import { err, isJsonObject, jsonEquals, type JsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { compare } from "./compare.ts";
import { type Conflict, conflictsBeyond, conflictsWith } from "./conflicts.ts";
import { difference, type FieldSet, isEmptySet, leaf, union } from "./field-set.ts";
import { fieldSetOf } from "./field-set-of.ts";
import { fieldsOfLastApplied, kubectlManager, withLastApplied } from "./last-applied.ts";
import { isSameManager, type Manager, type ManagerId } from "./managers.ts";
import { merge } from "./merge.ts";
import { prune } from "./prune.ts";
import { inScope, recorded, type Scope } from "./scope.ts";
import type { TypeNode } from "./type-node.ts";
import { afterLoss, changeIn, fitManagers, updateManagers } from "./update-managers.ts";

// The rules in their order: lay the document over the live object (merge.ts), take out what the manager gives up (prune.ts), see what
// that changes (compare.ts), refuse what others own of it (conflicts.ts), and write down who owns what now. A refused apply has
// changed nothing: every step makes new values.

/** A server-side apply. `document` has passed `readApplied`; neither it nor `live` has managedFields. */
export interface Apply {
  /** The stored object; undefined when the apply creates it. */
  readonly live: JsonObject | undefined;
  readonly document: JsonObject;
  /** The document as its author wrote it, for the annotation that keeps it. */
  readonly sent: JsonObject;
  readonly type: TypeNode;
  readonly managers: readonly Manager[];
  readonly writer: { readonly name: string; readonly apiVersion: string };
  readonly scope: Scope;
  /** Takes fields that others own instead of refusing. */
  readonly force: boolean;
  /** RFC 3339. */
  readonly now: string;
}

/** What is to be stored. Defaults and rules come afterwards: what they add has no owner. */
export interface Applied {
  readonly object: JsonObject;
  readonly managers: readonly Manager[];
}

/** The manager of the fields an object had before anybody applied to it and nobody recorded owners. */
export const beforeFirstApply = "before-first-apply";

/**
 * Lays the document over the live object: what it declares is set, what its manager declared last time and no longer does is taken
 * out unless others own it, and the manager owns exactly what it declares. Fields that would change and belong to others are refused
 * as conflicts, all of them; equal values are shared. An apply that changes nothing gives back the live object and the managers.
 */
export function applyManagers(apply: Apply): Result<Applied, readonly Conflict[]> {
  const start = startOf(apply);
  const outcome = applyOnce(apply, start, apply.force);
  if (outcome.ok || apply.force || !isMigrating(apply)) return finished(apply, outcome);
  const own = apply.live === undefined ? leaf : fieldsOfLastApplied(apply.live, apply.type);
  const foreign = conflictsBeyond(outcome.error, own);
  return foreign.length > 0 ? err(foreign) : finished(apply, applyOnce(apply, start, true));
}

/** The managers fitted to today's schema; when there are none, one that owns what is there. */
function startOf({ live, type, managers, writer, scope, now }: Apply): readonly Manager[] {
  if (managers.length > 0) return fitManagers(managers, type);
  if (live === undefined) return [];
  const first = { name: beforeFirstApply, apiVersion: writer.apiVersion };
  return updateManagers({ live: undefined, next: live, type, managers: [], writer: first, scope, now });
}

/**
 * One try. Conflicts are looked for among what changes, not among what is declared: a manager that declares the value that is there
 * shares the field. What pruning removes is gone for everybody, so it is taken from the sets of others too.
 */
function applyOnce(apply: Apply, managers: readonly Manager[], force: boolean): Result<Applied, readonly Conflict[]> {
  const { document, type, scope, writer, now } = apply;
  const live = apply.live ?? {};
  const id: ManagerId = { ...writer, operation: "Apply", subresource: scope.subresource };
  const before = managers.find((manager) => isSameManager(manager, id));
  const others = managers.filter((manager) => manager !== before);
  const declared = inScope(fieldSetOf(document, type), scope);
  const object = withoutEmptyMetadata(pruned(merge(live, document, type), before, declared, others, type));
  const { added, modified, removed } = changeIn(compare(live, object, type), scope);
  const taken = union(added, modified);
  const conflicts = force ? [] : conflictsWith(others, taken);
  if (conflicts.length > 0) return err(conflicts);
  const left = others.map((manager) => afterLoss(manager, taken, removed)).filter(({ fields }) => !isEmptySet(fields));
  const own = withEqualFields({ ...id, time: now, fields: recorded(declared) }, before);
  const isSame = object === apply.live && own.fields === before?.fields && own.apiVersion === before.apiVersion;
  if (isSame && isSameList(left, others)) return ok({ object, managers });
  return ok({ object, managers: isEmptySet(own.fields) ? left : [...left, own] });
}

/** An empty collection of metadata is not kept, so nobody keeps owning one that pruning has emptied. */
function withoutEmptyMetadata(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (!isJsonObject(metadata)) return object;
  const kept = Object.entries(metadata).filter(([, value]) => !isEmptyCollection(value));
  return kept.length === Object.keys(metadata).length ? object : { ...object, metadata: Object.fromEntries(kept) };
}

const isEmptyCollection = (value: JsonValue | undefined): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

/**
 * `declared` still has the fields that name the object, so that they and what holds them stay. A manager that gives up nothing, as most do
 * that apply again, takes nothing out.
 */
function pruned(
  merged: JsonObject,
  before: Manager | undefined,
  declared: FieldSet,
  others: readonly Manager[],
  type: TypeNode,
): JsonObject {
  if (before === undefined || isEmptySet(difference(before.fields, declared))) return merged;
  const owned = others.reduce((all, { fields }) => union(all, fields), declared);
  return prune(merged, before.fields, owned, type);
}

/** Equal sets are one value, so that entries that stay the same are seen to. */
const withEqualFields = (own: Manager, before: Manager | undefined): Manager =>
  before !== undefined && jsonEquals(before.fields, own.fields) ? { ...own, fields: before.fields } : own;

const isSameList = (a: readonly Manager[], b: readonly Manager[]): boolean =>
  a.length === b.length && a.every((manager, index) => manager === b[index]);

/** kubectl may have applied the object without the server before; never its scale, which has no annotations. */
const isMigrating = ({ writer, scope }: Apply): boolean =>
  writer.name === kubectlManager && scope.subresource !== "scale";

/** kubectl reads the annotation again when it applies without the server: what it declares now must stand there. */
function finished(apply: Apply, outcome: Result<Applied, readonly Conflict[]>): Result<Applied, readonly Conflict[]> {
  if (!outcome.ok || !isMigrating(apply)) return outcome;
  return ok({ ...outcome.value, object: withLastApplied(outcome.value.object, apply.sent) });
}
