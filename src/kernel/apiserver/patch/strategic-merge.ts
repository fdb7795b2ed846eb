import {
  err,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  ok,
  type Result,
} from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";
import type { MergeSchema } from "../kinds/served-resource.ts";

// Kubernetes' strategic merge patch. By default maps merge and lists are replaced, as in RFC 7386.

const setOrder = "$setElementOrder/";
const deleteFromList = "$deleteFromPrimitiveList/";
const retainKeys = "$retainKeys";
const directive = "$patch";

/** The patch is at fault, whatever the object. */
export interface StrategicMergeError {
  /** In the patch, directives included: `spec.containers[0].$patch`. */
  readonly path: string;
  readonly message: string;
}

/** Ends the walk from any depth; never leaves this file. */
class Refusal extends Error {
  readonly path: string;
  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/**
 * Applies a strategic merge patch. Neither argument is changed; the result may share parts with both. Without a schema
 * it is a merge patch. O(patch + lists it touches). Directives:
 *
 * | in the patch | means |
 * | --- | --- |
 * | `name: null` | remove the member |
 * | `$patch: replace` in a map | the map is what the patch says, nothing else |
 * | `$patch: delete` in a map | the map goes |
 * | `{$patch: delete, <key>: x}` in a keyed list | every item of this key goes, before anything is merged |
 * | `{$patch: replace}` in a keyed list | the other items of the patch are the list |
 * | `$retainKeys: [a, b]` in a map | members not named go; every member the patch sets must be named |
 * | `$deleteFromPrimitiveList/<field>: [x]` | the values go from a list of scalars |
 * | `$setElementOrder/<field>: [...]` | the order of the merged list, as far as the client knows it; else the order of the patch |
 */
export function applyStrategicMerge(
  original: JsonObject,
  patch: JsonObject,
  schema: MergeSchema | undefined,
): Result<JsonObject, StrategicMergeError> {
  try {
    return ok(mergeMap(original, patch, schema, ""));
  } catch (thrown) {
    if (thrown instanceof Refusal) return err({ path: thrown.path, message: thrown.message });
    throw thrown;
  }
}

type Members = Map<string, JsonValue>;

function membersOf(object: JsonObject): Members {
  const members: Members = new Map();
  for (const [name, value] of Object.entries(object)) if (value !== undefined) members.set(name, value);
  return members;
}

// fromEntries makes "__proto__" an ordinary key.
const toObject = (members: Members): JsonObject => Object.fromEntries(members);

/** Retains first, then merges members, then orders lists. */
function mergeMap(original: JsonObject, patch: JsonObject, schema: MergeSchema | undefined, path: string): JsonObject {
  const how = directiveOf(patch, path);
  if (how === "replace") return withoutDirectives(patch);
  if (how === "delete") return {};
  const members = membersOf(original);
  applyRetainKeys(members, patch, path);
  const orders = new Map<string, JsonArray>();
  for (const [name, value] of Object.entries(patch)) {
    if (value === undefined || name === directive || name === retainKeys) continue;
    if (name.startsWith(setOrder)) orders.set(name.slice(setOrder.length), expectList(value, join(path, name)));
    else if (name.startsWith(deleteFromList)) removeScalars(members, name.slice(deleteFromList.length), value, path);
    else {
      mergeMember(members, name, value, schema, path);
      // By default a list takes the order of the patch.
      if (Array.isArray(value) && !Object.hasOwn(patch, setOrder + name)) orders.set(name, value);
    }
  }
  for (const [name, order] of orders) applyOrder(members, name, order, listOf(original[name]), schema?.field(name));
  return toObject(members);
}

function directiveOf(patch: JsonObject, path: string): "replace" | "delete" | "merge" {
  const value = patch[directive];
  if (value === undefined) return "merge";
  if (value === "replace" || value === "delete" || value === "merge") return value;
  throw new Refusal(join(path, directive), `expected replace, delete or merge, found ${JSON.stringify(value)}`);
}

/** Without directives at any depth and members set to null. */
function withoutDirectives(patch: JsonObject): JsonObject {
  const members = [...membersOf(patch)].filter(([name, value]) => value !== null && !isDirective(name));
  return Object.fromEntries(members.map(([name, value]) => [name, strip(value)]));
}

const isDirective = (name: string): boolean =>
  name === directive || name === retainKeys || name.startsWith(setOrder) || name.startsWith(deleteFromList);

function strip(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(strip);
  return isJsonObject(value) ? withoutDirectives(value) : value;
}

/** For unions: setting `configMap` must not leave `emptyDir` behind. Null members need not be named. */
function applyRetainKeys(members: Members, patch: JsonObject, path: string): void {
  const kept = patch[retainKeys];
  if (kept === undefined) return;
  const place = join(path, retainKeys);
  const names = new Set(expectList(kept, place));
  for (const [name, value] of Object.entries(patch)) {
    if (!isDirective(name) && value !== null && !names.has(name))
      throw new Refusal(place, `it must list every member of the patch, "${name}" is missing`);
  }
  for (const name of members.keys()) if (!names.has(name)) members.delete(name);
}

function mergeMember(
  members: Members,
  name: string,
  change: JsonValue,
  schema: MergeSchema | undefined,
  path: string,
): void {
  const place = join(path, name);
  const current = members.get(name);
  const child = schema?.field(name);
  if (change === null) members.delete(name);
  else if (isJsonObject(change)) mergeObjectMember(members, name, change, child, place);
  else if (Array.isArray(change) && isMergedList(child)) {
    members.set(name, mergeList(Array.isArray(current) ? current : [], change, child, place));
  } else members.set(name, strip(change));
}

/** A map merges into a map and replaces anything else. Deleting a missing member is fine. */
function mergeObjectMember(
  members: Members,
  name: string,
  change: JsonObject,
  schema: MergeSchema | undefined,
  path: string,
): void {
  const current = members.get(name);
  if (change[directive] === "delete") members.delete(name);
  else members.set(name, mergeMap(isJsonObject(current) ? current : {}, change, schema, path));
}

/** Lists that merge: by a key, or as a set of scalars (`metadata.finalizers`). */
const isMergedList = (schema: MergeSchema | undefined): schema is MergeSchema =>
  schema !== undefined && (schema.mergeKey !== undefined || schema.strategies.includes("merge"));

function mergeList(original: JsonArray, patch: JsonArray, schema: MergeSchema, path: string): JsonArray {
  const { mergeKey } = schema;
  return mergeKey === undefined ? mergeSet(original, patch) : mergeKeyed(original, patch, schema, mergeKey, path);
}

/** Existing items keep their places; new ones follow, once. */
function mergeSet(original: JsonArray, patch: JsonArray): JsonArray {
  const known = new Set(original.map(canonicalJson));
  const result = [...original];
  for (const item of patch) {
    const text = canonicalJson(item);
    if (!known.has(text)) result.push(item);
    known.add(text);
  }
  return result;
}

/** Items are found by their key. Deletions come first, as in Kubernetes. */
function mergeKeyed(
  original: JsonArray,
  patch: JsonArray,
  schema: MergeSchema,
  mergeKey: string,
  path: string,
): JsonArray {
  const changes = patch.map((change, index) => readItem(change, mergeKey, `${path}[${index}]`));
  const deleted = new Set(changes.filter(({ how }) => how === "delete").map(({ key }) => key));
  const isReplaced = changes.some(({ how }) => how === "replace");
  const keyOf = (item: JsonValue) => keyIn(item, mergeKey);
  const items: JsonValue[] = isReplaced ? [] : original.filter((item) => !deleted.has(keyOf(item)));
  const places = firstPlaces(items, keyOf);
  for (const { change, key, how, place } of changes) {
    if (how !== "merge") continue;
    const at = places.get(key) ?? items.length;
    const current = items[at];
    items[at] = mergeMap(isJsonObject(current) ? current : {}, change, schema.items, place);
    places.set(key, at);
  }
  return items;
}

/** The key of an item; "", which is no JSON, without one. */
function keyIn(item: JsonValue, mergeKey: string): string {
  const key = isJsonObject(item) ? item[mergeKey] : undefined;
  return key === undefined ? "" : canonicalJson(key);
}

function firstPlaces(items: JsonArray, keyOf: (item: JsonValue) => string): Map<string, number> {
  const places = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    const key = keyOf(item);
    if (!places.has(key)) places.set(key, index);
  }
  return places;
}

/** A `replace` item concerns the whole list and is not part of it. */
function readItem(change: JsonValue, mergeKey: string, place: string) {
  if (!isJsonObject(change)) throw new Refusal(place, "expected an object");
  const how = directiveOf(change, place);
  const key = change[mergeKey] ?? null;
  if (key === null && how !== "replace") throw new Refusal(place, `the merge key "${mergeKey}" is missing`);
  return { change, key: canonicalJson(key), how, place };
}

/** Removing what is missing is fine: another client may have been first. */
function removeScalars(members: Members, name: string, value: JsonValue, path: string): void {
  const removed = expectList(value, join(path, deleteFromList + name));
  const current = members.get(name);
  if (!Array.isArray(current)) return;
  const texts = new Set(removed.map(canonicalJson));
  members.set(
    name,
    current.filter((item: JsonValue) => !texts.has(canonicalJson(item))),
  );
}

/**
 * Orders a merged list as Kubernetes does. Items in `order` follow it. The others keep their order; each goes before
 * the first named item that it preceded in the object:
 *
 * object [a, server, b], order [b, a] -> [server, b, a]; object [a, server], order [new, a] -> [new, a, server].
 */
function applyOrder(
  members: Members,
  name: string,
  order: JsonArray,
  before: JsonArray,
  schema: MergeSchema | undefined,
): void {
  const current = members.get(name);
  if (!Array.isArray(current) || !isMergedList(schema)) return;
  const { mergeKey } = schema;
  const keyOf = (item: JsonValue): string =>
    mergeKey !== undefined && isJsonObject(item) ? keyIn(item, mergeKey) || "null" : canonicalJson(item);
  const rankIn = (list: JsonArray) => {
    const places = firstPlaces(list, keyOf);
    return (item: JsonValue) => places.get(keyOf(item)) ?? -1;
  };
  const [wanted, former] = [rankIn(order), rankIn(before)];
  const ranked = current.map((item: JsonValue) => ({ item, rank: wanted(item) }));
  const named = ranked.filter(({ rank }) => rank >= 0).sort((a, b) => a.rank - b.rank);
  const others = ranked.filter(({ rank }) => rank < 0);
  const items = (of: typeof ranked): JsonArray => of.map(({ item }) => item);
  members.set(name, interleave(items(others), items(named), former));
}

/** Both keep their order. An item of `others` goes before the next `named` item it preceded, else at the end. */
function interleave(others: JsonArray, named: JsonArray, former: (item: JsonValue) => number): JsonArray {
  const result: JsonValue[] = [];
  let next = 0;
  for (const item of named) {
    for (; next < others.length; next += 1) {
      const other = others[next];
      if (other === undefined || former(other) < 0 || former(other) >= former(item)) break;
      result.push(other);
    }
    result.push(item);
  }
  return [...result, ...others.slice(next)];
}

const listOf = (value: JsonValue | undefined): JsonArray => (Array.isArray(value) ? value : []);

function expectList(value: JsonValue, path: string): JsonArray {
  if (Array.isArray(value)) return value;
  throw new Refusal(path, `expected a list, found ${JSON.stringify(value)}`);
}

const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);
