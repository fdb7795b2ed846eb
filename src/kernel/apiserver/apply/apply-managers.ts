import {
  err,
  isJsonObject,
  jsonEquals,
  type JsonObject,
  type JsonValue,
  ok,
  type Result,
  type JsonArray,
} from "#lib/base/index.ts";
import { canonicalJson, parseJson } from "#lib/json/index.ts";
import { compare } from "./compare.ts";
import { type Conflict, conflictsBeyond, conflictsWith } from "./conflicts.ts";
import { fieldSetOf, inScope, recorded, type Scope } from "./field-set-of.ts";
import { difference, type FieldSet, isEmptySet, leaf, union, childElements, isMember } from "./field-set.ts";
import { isSameManager, type Manager, type ManagerId } from "./managers.ts";
import { merge } from "./merge.ts";
import type { TypeNode } from "./type-node.ts";
import { afterLoss, changeIn, fitManagers, updateManagers } from "./update-managers.ts";
import { fieldNameOf } from "./elements.ts";
import { elementOf, isGranular, isTracked, memberOf, setMember } from "./values.ts";

// Merge, prune, compare, refuse conflicts, record the new owners. Every step makes new values.

/** `document` has passed `readApplied`; neither it nor `live` has managedFields. */
export interface Apply {
  readonly live: JsonObject | undefined;
  readonly document: JsonObject;
  /** The document as its author wrote it, for kubectl's annotation. */
  readonly sent: JsonObject;
  readonly type: TypeNode;
  readonly managers: readonly Manager[];
  readonly writer: { readonly name: string; readonly apiVersion: string };
  readonly scope: Scope;
  /** Take fields of other managers instead of refusing. */
  readonly force: boolean;
  readonly now: string;
}

export interface Applied {
  readonly object: JsonObject;
  readonly managers: readonly Manager[];
}

/** The manager of fields that were there before the first apply and have no recorded owner. */
export const beforeFirstApply = "before-first-apply";

/** Makes the manager the owner of what its document declares. Without a change, returns the live object. */
export function applyManagers(apply: Apply): Result<Applied, readonly Conflict[]> {
  const start = startOf(apply);
  const outcome = applyOnce(apply, start, apply.force);
  if (outcome.ok || apply.force || !isMigrating(apply)) return finished(apply, outcome);
  const own = apply.live === undefined ? leaf : fieldsOfLastApplied(apply.live, apply.type);
  const foreign = conflictsBeyond(outcome.error, own);
  return foreign.length > 0 ? err(foreign) : finished(apply, applyOnce(apply, start, true));
}

/** The managers fitted to the current schema; without any, one that owns what is there. */
function startOf({ live, type, managers, writer, scope, now }: Apply): readonly Manager[] {
  if (managers.length > 0) return fitManagers(managers, type);
  if (live === undefined) return [];
  const first = { name: beforeFirstApply, apiVersion: writer.apiVersion };
  return updateManagers({ live: undefined, next: live, type, managers: [], writer: first, scope, now });
}

/** Only changed fields conflict: a manager that declares the present value shares the field. */
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

/** Pruning may empty metadata's collections, which are not kept when empty. */
function withoutEmptyMetadata(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (!isJsonObject(metadata)) return object;
  const kept = Object.entries(metadata).filter(([, value]) => !isEmptyCollection(value));
  return kept.length === Object.keys(metadata).length ? object : { ...object, metadata: Object.fromEntries(kept) };
}

const isEmptyCollection = (value: JsonValue | undefined): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

/** Removes what the manager gave up. `declared` still has the fields that name the object, so they stay. */
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

/** Reuses an equal set, so that unchanged entries are recognized. */
const withEqualFields = (own: Manager, before: Manager | undefined): Manager =>
  before !== undefined && jsonEquals(before.fields, own.fields) ? { ...own, fields: before.fields } : own;

const isSameList = (a: readonly Manager[], b: readonly Manager[]): boolean =>
  a.length === b.length && a.every((manager, index) => manager === b[index]);

/** kubectl may have applied the object on the client side before; never its scale. */
const isMigrating = ({ writer, scope }: Apply): boolean =>
  writer.name === kubectlManager && scope.subresource !== "scale";

/** kubectl reads the annotation when it applies on the client side again. */
function finished(apply: Apply, outcome: Result<Applied, readonly Conflict[]>): Result<Applied, readonly Conflict[]> {
  if (!outcome.ok || !isMigrating(apply)) return outcome;
  return ok({ ...outcome.value, object: withLastApplied(outcome.value.object, apply.sent) });
}

// When a kubectl switches to server-side apply, what its last-applied annotation declares does not conflict.

export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
/** The manager kubectl applies as; another name opts out of the migration. */
export const kubectlManager = "kubectl";

/** Limit for all annotations; beyond it the annotation is dropped. */
const maxAnnotationBytes = 256 * 1024;

function annotationsOf(object: JsonObject): JsonObject {
  const annotations = isJsonObject(object["metadata"]) ? object["metadata"]["annotations"] : undefined;
  return isJsonObject(annotations) ? annotations : {};
}

/** The fields the annotation declares that still have these values. */
export function fieldsOfLastApplied(live: JsonObject, type: TypeNode): FieldSet {
  const text = annotationsOf(live)[lastAppliedAnnotation];
  const parsed = typeof text === "string" ? parseJson(text) : undefined;
  if (parsed?.ok !== true || !isJsonObject(parsed.value)) return leaf;
  const document = parsed.value;
  if (document["apiVersion"] !== live["apiVersion"]) return leaf;
  const { added, modified, removed } = compare(document, live, type);
  return difference(fieldSetOf(document, type), union(union(added, modified), removed));
}

export function withLastApplied(object: JsonObject, document: JsonObject): JsonObject {
  const annotations = annotationsOf(object);
  const text = annotations[lastAppliedAnnotation];
  if (typeof text !== "string" || text === "") return object;
  const renewed = `${canonicalJson(withoutAnnotation(document))}\n`;
  if (renewed === text) return object;
  const { [lastAppliedAnnotation]: _old, ...others } = annotations;
  const all = { ...annotations, [lastAppliedAnnotation]: renewed };
  return withAnnotations(object, Buffer.byteLength(JSON.stringify(all)) > maxAnnotationBytes ? others : all);
}

function withoutAnnotation(document: JsonObject): JsonObject {
  const annotations = annotationsOf(document);
  if (annotations[lastAppliedAnnotation] === undefined) return document;
  const { [lastAppliedAnnotation]: _nested, ...others } = annotations;
  return withAnnotations(document, others);
}

const withAnnotations = (object: JsonObject, annotations: JsonObject): JsonObject => ({
  ...object,
  metadata: { ...(isJsonObject(object["metadata"]) ? object["metadata"] : {}), annotations },
});

// Unlike in Kubernetes, an item stays, with its key, when somebody owns a field of it.

/**
 * Removes from `merged` what its manager declared last time (`last`) and nobody declares or owns now (`owned`). A place
 * that nobody owns goes with its content, such as defaults; one that stays loses only what was declared in it. Emptied
 * objects and lists go unless owned; items keep their keys. Returns `merged` when nothing goes.
 */
const prune = (merged: JsonObject, last: FieldSet, owned: FieldSet, type: TypeNode): JsonObject =>
  pruneMembers(merged, last, owned, type, []);

/** `owned` is undefined where nobody owns anything. */
function pruneValue(
  value: JsonValue,
  last: FieldSet,
  owned: FieldSet | undefined,
  type: TypeNode,
  keys: readonly string[] = [],
): JsonValue {
  if (isGranular(value, type)) return pruneMembers(value, last, owned, type, keys);
  return isTracked(value, type) ? pruneItems(value, last, owned, type) : value;
}

/** `keys` are members that always stay. */
function pruneMembers(
  object: JsonObject,
  last: FieldSet,
  owned: FieldSet | undefined,
  type: TypeNode,
  keys: readonly string[],
): JsonObject {
  const changes = new Map<string, JsonValue | undefined>();
  for (const element of childElements(last)) {
    const name = fieldNameOf(element);
    const value = name === undefined || keys.includes(name) ? undefined : memberOf(object, name);
    if (name === undefined || value === undefined) continue;
    const declared = last[element] ?? leaf;
    const theirs = owned?.[element];
    // Fields of the schema are declared through what is inside.
    const goes = theirs === undefined && (isMember(declared) || type.isNamed(name));
    const rest = goes ? undefined : pruneValue(value, declared, theirs, type.member(name));
    if (rest !== value) changes.set(name, rest === undefined || isGivenUp(rest, theirs) ? undefined : rest);
  }
  return changes.size === 0 ? object : withChanges(object, changes);
}

function pruneItems(list: JsonArray, last: FieldSet, owned: FieldSet | undefined, type: TypeNode): JsonArray {
  let hasChanged = false;
  const items: JsonValue[] = [];
  for (const item of list) {
    const element = elementOf(item, type);
    const declared = element === undefined ? undefined : last[element];
    const theirs = element === undefined ? undefined : owned?.[element];
    if (declared === undefined) items.push(item);
    else if (theirs === undefined && isMember(declared)) hasChanged = true;
    else {
      const rest = pruneValue(item, declared, theirs, type.items, type.keys);
      hasChanged ||= rest !== item;
      items.push(rest);
    }
  }
  return hasChanged ? items : list;
}

/** Emptied by pruning and not owned as empty. */
const isGivenUp = (rest: JsonValue, owned: FieldSet | undefined): boolean =>
  typeof rest === "object" &&
  rest !== null &&
  Object.keys(rest).length === 0 &&
  (owned === undefined || !isMember(owned));

function withChanges(object: JsonObject, changes: ReadonlyMap<string, JsonValue | undefined>): JsonObject {
  const copy: Record<string, JsonValue | undefined> = {};
  for (const name of Object.keys(object)) {
    const value = changes.has(name) ? changes.get(name) : object[name];
    if (value !== undefined) setMember(copy, name, value);
  }
  return copy;
}
