import {
  err,
  isJsonObject,
  jsonEquals,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  ok,
  type Result,
} from "#lib/base/index.ts";
import type { MergeSchema } from "../kinds/served-resource.ts";

// The schema of a value tells how its lists merge; where it says nothing, maps merge and lists are replaced.

const setOrder = "$setElementOrder/";
const deleteFromList = "$deleteFromPrimitiveList/";
const retainKeys = "$retainKeys";
const directive = "$patch";

/** A patch that cannot be applied: which field, and why. */
export interface StrategicMergeError {
  readonly path: string;
  readonly message: string;
}

class Refusal extends Error {
  readonly path: string;
  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/**
 * Applies a strategic merge patch. Neither argument is changed. Directives: `$patch` (replace, delete, merge) in maps and list
 * items, `$retainKeys`, `$deleteFromPrimitiveList/<field>`, `$setElementOrder/<field>`; `null` removes a map's member.
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

// fromEntries defines own members, so that "__proto__" is an ordinary key.
const toObject = (members: Members): JsonObject => Object.fromEntries(members);

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
    else mergeMember(members, name, value, schema, path);
  }
  for (const [name, order] of orders) applyOrder(members, name, order, patch[name], schema?.field(name));
  return toObject(members);
}

function directiveOf(patch: JsonObject, path: string): "replace" | "delete" | "merge" {
  const value = patch[directive];
  if (value === undefined) return "merge";
  if (value === "replace" || value === "delete" || value === "merge") return value;
  throw new Refusal(join(path, directive), `expected replace, delete or merge, found ${JSON.stringify(value)}`);
}

/** Removes directives at any depth, and members set to null, which a replacing patch cannot store. */
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

function applyRetainKeys(members: Members, patch: JsonObject, path: string): void {
  const kept = patch[retainKeys];
  if (kept === undefined) return;
  const place = join(path, retainKeys);
  const names = new Set(expectList(kept, place));
  for (const name of Object.keys(patch)) {
    if (!isDirective(name) && !names.has(name))
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

function mergeObjectMember(
  members: Members,
  name: string,
  change: JsonObject,
  schema: MergeSchema | undefined,
  path: string,
): void {
  const current = members.get(name);
  if (change[directive] === "delete") {
    members.delete(name);
  } else if (isJsonObject(current)) {
    members.set(name, mergeMap(current, change, schema, path));
  } else {
    members.set(name, mergeMap({}, change, schema, path));
  }
}

const isMergedList = (schema: MergeSchema | undefined): schema is MergeSchema =>
  schema !== undefined && (schema.mergeKey !== undefined || schema.strategies.includes("merge"));

function mergeList(original: JsonArray, patch: JsonArray, schema: MergeSchema, path: string): JsonArray {
  const { mergeKey } = schema;
  return mergeKey === undefined ? mergeSet(original, patch) : mergeKeyed(original, patch, schema, mergeKey, path);
}

function mergeSet(original: JsonArray, patch: JsonArray): JsonArray {
  const added = patch.filter(
    (item, index) => !includes(original, item) && patch.findIndex((other) => jsonEquals(other, item)) === index,
  );
  return [...original, ...added];
}

const includes = (list: JsonArray, value: JsonValue): boolean => list.some((item) => jsonEquals(item, value));

function mergeKeyed(
  original: JsonArray,
  patch: JsonArray,
  schema: MergeSchema,
  mergeKey: string,
  path: string,
): JsonArray {
  const replaces = patch.some((item) => isJsonObject(item) && item[directive] === "replace");
  let items: JsonValue[] = replaces ? [] : [...original];
  for (const [index, change] of patch.entries()) {
    const place = `${path}[${index}]`;
    if (!isJsonObject(change)) throw new Refusal(place, "expected an object");
    // `{$patch: replace}` alone only says that the list is replaced.
    if (change[directive] === "replace" && Object.keys(change).length === 1) continue;
    const key = change[mergeKey];
    if (key === undefined) throw new Refusal(place, `the merge key "${mergeKey}" is missing`);
    const at = items.findIndex((item) => isJsonObject(item) && jsonEquals(item[mergeKey], key));
    if (directiveOf(change, place) === "delete") {
      items = items.filter((item) => !(isJsonObject(item) && jsonEquals(item[mergeKey], key)));
    } else if (at < 0) {
      items.push(mergeMap({}, change, schema.items, place));
    } else {
      const current = items[at];
      items[at] = mergeMap(isJsonObject(current) ? current : {}, change, schema.items, place);
    }
  }
  return items;
}

function removeScalars(members: Members, name: string, value: JsonValue, path: string): void {
  const removed = expectList(value, join(path, deleteFromList + name));
  const current = members.get(name);
  if (Array.isArray(current))
    members.set(
      name,
      current.filter((item: JsonValue) => !includes(removed, item)),
    );
}

/**
 * Orders a merged list: items named by the order stand in it; an item the order does not name (the server has it, the client did
 * not know it) keeps its place after the item that stood before it.
 */
function applyOrder(
  members: Members,
  name: string,
  order: JsonArray,
  patched: JsonValue | undefined,
  schema: MergeSchema | undefined,
): void {
  const current = members.get(name);
  if (!Array.isArray(current) || !isMergedList(schema)) return;
  const keyOf = (item: JsonValue): JsonValue => {
    const { mergeKey } = schema;
    return mergeKey !== undefined && isJsonObject(item) ? (item[mergeKey] ?? null) : item;
  };
  const wanted = order.map(keyOf);
  const rank = (item: JsonValue) => wanted.findIndex((key) => jsonEquals(key, keyOf(item)));
  const listed = current
    .filter((item: JsonValue) => rank(item) >= 0)
    .sort((a: JsonValue, b: JsonValue) => rank(a) - rank(b));
  if (patched === undefined && listed.length === 0) return;
  members.set(
    name,
    interleave(current, listed, (item) => rank(item) >= 0),
  );
}

function interleave(current: JsonArray, listed: JsonArray, isListed: (item: JsonValue) => boolean): JsonArray {
  const result: JsonValue[] = [];
  let next = 0;
  for (const item of current) {
    if (!isListed(item)) result.push(item);
    else {
      const chosen = listed[next];
      next += 1;
      if (chosen !== undefined) result.push(chosen);
    }
  }
  return result;
}

function expectList(value: JsonValue, path: string): JsonArray {
  if (Array.isArray(value)) return value;
  throw new Refusal(path, `expected a list, found ${JSON.stringify(value)}`);
}

const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);
