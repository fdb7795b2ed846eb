import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

/**
 * Reads one value of what a client sent. Absent and null give the default. A value of another type is a problem, named
 * with its place, and gives the default too, so that all problems are found at once.
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
/** Any JSON; null where nothing was sent. */
export const anything: Reader = (value) => value ?? null;
/** UUIDs are compared as text, so they have one form. */
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
    // fromEntries defines members, so that the key `__proto__` is one like all others.
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, one]) =>
        one === undefined ? [] : [[key, item(one, `${at}.${key}`, problems)]],
      ),
    );
  };

/** An object with these fields and no others: unknown ones are dropped, as real content has misspelled ones. */
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

/** Go's rule: a field has its exact name, or else one that differs in case only. */
function exactNames(sent: JsonObject, fields: Fields, byFolded: ReadonlyMap<string, string>): JsonObject {
  const others = Object.keys(sent).filter((name) => !Object.hasOwn(fields, name));
  if (others.length === 0) return sent;
  const renamed: Record<string, JsonValue | undefined> = { ...sent };
  for (const other of others) {
    const name = byFolded.get(other.toLowerCase());
    if (name !== undefined && !Object.hasOwn(sent, name)) renamed[name] = sent[other];
  }
  return renamed;
}
