import { err, isJsonObject, jsonEquals, type JsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { canonicalElement, compareElements, sortElements } from "./elements.ts";
import { type FieldSet, leaf, unionOfNodes } from "./field-set.ts";

/** An entry of `metadata.managedFields`, identified by manager, operation, subresource and, for Update, apiVersion. */
export interface Manager {
  readonly name: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  /** `status` or another subresource; empty for the object itself. */
  readonly subresource: string;
  /** RFC 3339 time of the last change of the set. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
  /** The entry it was read from, reused while nothing changes. */
  readonly entry?: JsonObject;
}

export type ManagerId = Pick<Manager, "name" | "operation" | "apiVersion" | "subresource">;

/** Kubernetes' limit, in characters. */
export const maxManagerName = 128;

/** An applier has one entry for all versions; an updater one per version. */
export const isSameManager = (a: ManagerId, b: ManagerId): boolean =>
  a.name === b.name &&
  a.operation === b.operation &&
  a.subresource === b.subresource &&
  (a.operation === "Apply" || a.apiVersion === b.apiVersion);

const keyOf = ({ name, operation, apiVersion, subresource }: ManagerId): string =>
  JSON.stringify([name, operation, subresource, operation === "Apply" ? "" : apiVersion]);

// Times are whole seconds, as in Kubernetes.

export function withFields(manager: Manager, fields: FieldSet): Manager {
  if (fields === manager.fields) return manager;
  const { entry: _replaced, ...rest } = manager;
  return { ...rest, fields };
}

export function touched(manager: Manager, time: string): Manager {
  const { entry: _replaced, ...rest } = manager;
  return { ...rest, time };
}

const decoded = new WeakMap<object, readonly Manager[]>();

/** Reads `metadata.managedFields`. The error names the first wrong entry. Frozen lists are read once. */
export function decodeManagers(value: JsonValue | undefined): Result<readonly Manager[], string> {
  if (value === undefined || value === null) return ok([]);
  if (!Array.isArray(value)) return err("managedFields must be a list");
  const known = decoded.get(value);
  if (known !== undefined) return ok(known);
  const byKey = new Map<string, Manager>();
  for (const [index, entry] of value.entries()) {
    const read = decodeEntry(entry);
    if (!read.ok) return err(`managedFields[${index}]: ${read.error}`);
    const key = keyOf(read.value);
    // The last entry of a manager counts.
    byKey.delete(key);
    byKey.set(key, read.value);
  }
  const managers = [...byKey.values()];
  if (Object.isFrozen(value)) decoded.set(value, managers);
  return ok(managers);
}

/** Go clients may send zero values for absent members. */
function decodeEntry(entry: JsonValue): Result<Manager, string> {
  if (!isJsonObject(entry)) return err("it must be an object");
  const { manager = "", operation, apiVersion, subresource = "", time, fieldsType, fieldsV1 = {} } = entry;
  if (operation !== "Apply" && operation !== "Update") return err('operation must be "Apply" or "Update"');
  if (typeof apiVersion !== "string" || apiVersion === "") return err("apiVersion must not be empty");
  if (fieldsType !== "FieldsV1") return err('fieldsType must be "FieldsV1"');
  if (typeof manager !== "string" || manager.length > maxManagerName || !/^\P{C}*$/u.test(manager)) {
    return err(`manager must be a text of at most ${maxManagerName} printable characters`);
  }
  if (typeof subresource !== "string") return err("subresource must be a text");
  if (time !== undefined && time !== null && (typeof time !== "string" || Number.isNaN(Date.parse(time)))) {
    return err("time must be an RFC 3339 time");
  }
  const fields = decodeFields(fieldsV1);
  if (fields === undefined) return err("fieldsV1 is no set of fields");
  const read: Manager = { name: manager, operation, apiVersion, subresource, time: time ?? undefined, fields };
  return ok(jsonEquals(encodeManager(read), entry) ? { ...read, entry } : read);
}

function encodeManager({ name, operation, apiVersion, subresource, time, fields, entry }: Manager): JsonObject {
  if (entry !== undefined) return entry;
  return {
    ...(name === "" ? {} : { manager: name }),
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: "FieldsV1",
    fieldsV1: fields,
    ...(subresource === "" ? {} : { subresource }),
  };
}

/** Appliers first, older entries first. Returns `old`, the list they were read from, when nothing changed. */
export function encodeManagers(managers: readonly Manager[], old?: JsonValue): JsonValue | undefined {
  if (managers.length === 0) return undefined;
  const entries = [...managers].sort(compareManagers).map(encodeManager);
  const isOld = Array.isArray(old) && old.length === entries.length && entries.every((entry, at) => entry === old[at]);
  return isOld ? old : entries;
}

function compareManagers(a: Manager, b: Manager): number {
  return (
    compareTexts(a.operation, b.operation) ||
    secondsOf(a) - secondsOf(b) ||
    compareTexts(a.name, b.name) ||
    compareTexts(a.apiVersion, b.apiVersion) ||
    compareTexts(a.subresource, b.subresource)
  );
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const secondsOf = ({ time }: Manager): number => (time === undefined ? 0 : Math.floor(Date.parse(time) / 1000));

/** True when the same managers own the same fields, whenever they did. */
export function isSameOwnership(a: readonly Manager[], b: readonly Manager[]): boolean {
  if (a.length !== b.length) return false;
  const byKey = new Map(b.map((manager) => [keyOf(manager), manager]));
  return a.every((one) => {
    const other = byKey.get(keyOf(one));
    return other !== undefined && one.apiVersion === other.apiVersion && jsonEquals(one.fields, other.fields);
  });
}

/** `[]` and `[{}]` ask the server to forget all owners. */
export const asksToForget = (value: JsonValue | undefined): boolean =>
  Array.isArray(value) && (value.length === 0 || (value.length === 1 && jsonEquals(value[0], {})));

// Clients may spell sets differently (kubectl hands entries over with a JSON patch), which must not give one field two
// names.

// Frozen sets found canonical, which recur in every write.
const known = new WeakMap<object, FieldSet>();

/** Reads a `fieldsV1` in canonical form; undefined if invalid. Drops unknown elements, as Kubernetes does. */
export function decodeFields(value: JsonValue): FieldSet | undefined {
  if (!isJsonObject(value)) return undefined;
  const found = known.get(value);
  if (found !== undefined) return found;
  const set = value["."] === undefined && isCanonicalNode(value) ? value : canonicalNode(value, true);
  if (set !== undefined && Object.isFrozen(value)) known.set(value, set);
  return set;
}

function isCanonicalNode(value: JsonObject): value is FieldSet {
  let before: string | undefined;
  for (const name in value) {
    const child = value[name];
    if (!isJsonObject(child)) return false;
    if (name === ".") {
      if (before !== undefined || Object.keys(child).length > 0) return false;
      continue;
    }
    if (canonicalElement(name) !== name || (before !== undefined && compareElements(before, name) >= 0)) return false;
    if (!isCanonicalNode(child)) return false;
    before = name;
  }
  // A member with nothing inside is spelt `{}`.
  return before !== undefined || value["."] === undefined;
}

function canonicalNode(value: JsonObject, isRoot = false): FieldSet | undefined {
  const children = new Map<string, FieldSet>();
  for (const name of Object.keys(value)) {
    const child = value[name];
    if (!isJsonObject(child)) return undefined;
    if (name === ".") continue;
    const element = canonicalElement(name);
    if (element === undefined && isOfKnownKind(name)) return undefined;
    const node = element === undefined ? undefined : canonicalNode(child);
    if (element === undefined) continue;
    if (node === undefined) return undefined;
    const same = children.get(element);
    children.set(element, same === undefined ? node : unionOfNodes(same, node));
  }
  const set: Record<string, FieldSet> = {};
  if (!isRoot && value["."] !== undefined && children.size > 0) set["."] = leaf;
  for (const element of sortElements([...children.keys()])) set[element] = children.get(element) ?? leaf;
  return set;
}

// A misspelt element of a known kind is an error; an unknown kind is not.
const isOfKnownKind = (name: string): boolean =>
  name.length < 2 || name[1] !== ":" || "fkvi".includes(name.slice(0, 1));
