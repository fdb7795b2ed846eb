import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

/**
 * Reads one value that a client sent. Absent and null give the default. A value of the wrong type adds a problem with
 * its path and gives the default, so all problems are reported at once.
 */
export type Reader = (value: JsonValue | undefined, at: string, problems: string[]) => JsonValue;
export type Fields = Readonly<Record<string, Reader>>;

const typeName = (value: JsonValue): string =>
  Array.isArray(value) ? "a list" : value === null ? "null" : typeof value === "object" ? "a map" : `a ${typeof value}`;

const scalar =
  <T extends JsonValue>(expected: string, is: (value: JsonValue) => value is T, fallback: T): Reader =>
  (value, at, problems) => {
    if (value === undefined || value === null) return fallback;
    if (is(value)) return value;
    problems.push(`${at}: expected ${expected}, found ${typeName(value)}`);
    return fallback;
  };

const isText = (value: JsonValue): value is string => typeof value === "string";
const isFlag = (value: JsonValue): value is boolean => typeof value === "boolean";
const isInteger = (value: JsonValue): value is number => Number.isSafeInteger(value);

export const textOr = (fallback: string): Reader => scalar("a string", isText, fallback);
export const text = textOr("");
export const flag = scalar("a boolean", isFlag, false);
export const integer = scalar("an integer", isInteger, 0);
/** A value of `Meta`. Booleans and numbers become strings, because real content has `clipboard: true`. */
export const label: Reader = (value, at, problems) =>
  typeof value === "boolean" || typeof value === "number" ? String(value) : text(value, at, problems);
/** A written object without what is null, its labels as strings: the forms that the original's clients accept. */
export function withoutNulls(written: JsonObject): JsonObject {
  const members = Object.entries(written).flatMap(([name, value]): readonly (readonly [string, JsonValue])[] => {
    if (value === null || value === undefined) return [];
    if (name === "Meta") return [[name, isJsonObject(value) ? mapOf(label)(value, name, []) : value]];
    return [[name, name === "Templates" && Array.isArray(value) ? value.map(itemWithoutNulls) : value]];
  });
  return Object.fromEntries(members);
}

const itemWithoutNulls = (item: JsonValue): JsonValue => (isJsonObject(item) ? withoutNulls(item) : item);

/** Any JSON value; null if absent. */
export const anything: Reader = (value) => value ?? null;
/** Lower case, because UUIDs are compared as strings. */
export const uuid: Reader = (value, at, problems) => {
  const read = text(value, at, problems);
  return typeof read === "string" ? read.toLowerCase() : read;
};

export const listOf =
  (item: Reader): Reader =>
  (value, at, problems) => {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value.map((one: JsonValue, index) => item(one, `${at}[${index}]`, problems));
    problems.push(`${at}: expected a list, found ${typeName(value)}`);
    return [];
  };

export const mapOf =
  (item: Reader): Reader =>
  (value, at, problems) => {
    if (value === undefined || value === null) return {};
    if (!isJsonObject(value)) {
      problems.push(`${at}: expected a map, found ${typeName(value)}`);
      return {};
    }
    // fromEntries defines members, so the key `__proto__` is an ordinary one.
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, one]) =>
        one === undefined ? [] : [[key, item(one, `${at}.${key}`, problems)]],
      ),
    );
  };

/** An object with exactly these fields. Unknown fields are dropped, because real content has misspelled ones. */
export function structOf(fields: Fields): Reader {
  const entries = Object.entries(fields);
  const byFolded = new Map(entries.map(([name]) => [name.toLowerCase(), name]));
  return (value, at, problems) => {
    let sent: JsonObject = {};
    if (isJsonObject(value)) sent = exactNames(value, fields, byFolded);
    else if (value !== undefined && value !== null) problems.push(`${at}: expected a map, found ${typeName(value)}`);
    const read: Record<string, JsonValue> = {};
    const prefix = at === "" ? "" : `${at}.`;
    for (const [name, reader] of entries) {
      read[name] = reader(Object.hasOwn(sent, name) ? sent[name] : undefined, prefix + name, problems);
    }
    return read;
  };
}

/** Go's rule: an exact field name wins over one that differs only in case. */
function exactNames(sent: JsonObject, fields: Fields, byFolded: ReadonlyMap<string, string>): JsonObject {
  let renamed: Record<string, JsonValue | undefined> | undefined;
  for (const other in sent) {
    if (Object.hasOwn(fields, other)) continue;
    const name = byFolded.get(other.toLowerCase());
    if (name === undefined || Object.hasOwn(sent, name)) continue;
    renamed ??= { ...sent };
    renamed[name] = sent[other];
  }
  return renamed ?? sent;
}
