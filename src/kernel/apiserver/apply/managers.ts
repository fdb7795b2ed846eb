import { err, isJsonObject, jsonEquals, type JsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import type { FieldSet } from "./field-set.ts";
import { decodeFields } from "./fields-v1.ts";

/** Who owns which fields: one entry of `metadata.managedFields`. Manager, operation, subresource and, for Update, apiVersion identify it. */
export interface Manager {
  readonly name: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  /** `status` or another subresource; empty for the object itself. */
  readonly subresource: string;
  /** RFC 3339, when its set last changed. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
  /** The entry it was read from, which is written again as long as nothing of it changes. */
  readonly entry?: JsonObject;
}

/** What tells managers apart. */
export type ManagerId = Pick<Manager, "name" | "operation" | "apiVersion" | "subresource">;

/** Kubernetes' limit for the name of a manager, in characters. */
export const maxManagerName = 128;

/** An applier has one entry whatever the version it applied with; an updater one for each version. */
export const isSameManager = (a: ManagerId, b: ManagerId): boolean =>
  a.name === b.name &&
  a.operation === b.operation &&
  a.subresource === b.subresource &&
  (a.operation === "Apply" || a.apiVersion === b.apiVersion);

/** Equal for the same manager, for tables of them: a client may send thousands. */
const keyOf = ({ name, operation, apiVersion, subresource }: ManagerId): string =>
  JSON.stringify([name, operation, subresource, operation === "Apply" ? "" : apiVersion]);

// Times are those of entries, whole seconds as Kubernetes writes them; comparing sets never looks at them.

/** The manager with another set; the very manager when the set is the same. */
export function withFields(manager: Manager, fields: FieldSet): Manager {
  if (fields === manager.fields) return manager;
  const { entry: _replaced, ...rest } = manager;
  return { ...rest, fields };
}

/** The manager as changed at this time. */
export function touched(manager: Manager, time: string): Manager {
  const { entry: _replaced, ...rest } = manager;
  return { ...rest, time };
}

const decoded = new WeakMap<object, readonly Manager[]>();

/**
 * Reads `metadata.managedFields`; absent is nobody. Fails with a sentence naming the first entry that is wrong, and why. Stored lists
 * are frozen and read once.
 */
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
    // The last entry of a manager counts, in its own place.
    byKey.delete(key);
    byKey.set(key, read.value);
  }
  const managers = [...byKey.values()];
  if (Object.isFrozen(value)) decoded.set(value, managers);
  return ok(managers);
}

/** Members with their zero value count as absent, because Go clients may send either. */
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

/**
 * Writes `metadata.managedFields`, appliers first, older entries before newer ones; undefined when there is nobody. `old` is the list
 * the managers were read from: it is returned itself when nothing has changed.
 */
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

/** The time of a manager in whole seconds; 0 when it has none. */
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

/** True for `[]` and `[{}]`: the client asks the server to forget all owners. */
export const asksToForget = (value: JsonValue | undefined): boolean =>
  Array.isArray(value) && (value.length === 0 || (value.length === 1 && jsonEquals(value[0], {})));
