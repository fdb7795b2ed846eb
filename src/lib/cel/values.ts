import { Optional } from "@marcbachmann/cel-js";
import { Duration, UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import { getOrAdd, type JsonArray, type JsonValue } from "#lib/base/index.ts";

// The border between JSON and CEL. In: integers become bigint, because CEL's int and double are different types. Out:
// bigint becomes a number again, and what JSON lacks becomes a text.

/** Values that CEL computes with and JSON does not have; they leave an expression as their text. */
export interface TextValue {
  toText(): string;
}

/** Converted values of frozen objects, which cannot change. Dropped together with the objects. */
const known = new WeakMap<object, unknown>();

/**
 * A JSON value as CEL sees it: integers become `int` (BigInt), other numbers `double`. Objects and arrays without
 * integers and absent members are used as they are. Linear in the value; frozen objects are converted once.
 */
export function toCel(value: JsonValue): unknown {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value !== "object" || value === null) return value;
  if (!Object.isFrozen(value)) return convertCollection(value);
  return getOrAdd(known, value, () => convertCollection(value));
}

/** The value itself when nothing in it changes, so that documents without numbers cost no memory. */
function convertCollection(value: object): unknown {
  if (isArray(value)) {
    const items = value.map(toCel);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  let changed = false;
  const entries: [string, unknown][] = [];
  for (const [key, member] of Object.entries(value) as [string, JsonValue | undefined][]) {
    const converted = member === undefined ? undefined : toCel(member);
    if (converted !== member || member === undefined) changed = true;
    if (converted !== undefined) entries.push([key, converted]);
  }
  return changed || Object.hasOwn(value, "constructor") ? mapOf(entries) : value;
}

/**
 * A map with text keys as the CEL library takes it. It looks at `constructor` to tell objects apart, so that a map
 * which has such a key must be a Map; fromEntries defines own members, so that "__proto__" is an ordinary key.
 */
export const mapOf = (entries: readonly (readonly [string, unknown])[]): object =>
  entries.some(([key]) => key === "constructor") ? new Map(entries) : Object.fromEntries(entries);

const isArray = (value: unknown): value is JsonArray => Array.isArray(value);

/** What an expression computed, as JSON. Throws an Error with a message for users when JSON cannot hold it. */
export function fromCel(value: unknown): JsonValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "bigint") return exactNumber(value);
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (typeof value === "object") return fromObject(value);
  throw new Error(typeof value === "number" ? `the result ${value} has no JSON form` : "the result has no JSON form");
}

function exactNumber(value: bigint): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw new Error(`the integer ${value} is beyond 2^53-1 and would lose digits; use string(…)`);
}

function fromObject(value: object): JsonValue {
  if (Array.isArray(value)) return value.map(fromCel);
  if (value instanceof Set) return Array.from(value, fromCel);
  if (value instanceof Map) return fromMap(value);
  if (value instanceof UnsignedInt) return exactNumber(value.value);
  if (value instanceof Optional) return value.hasValue() ? fromCel(value.value()) : null;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return formatText(value);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fromCel(item)]));
}

/** JSON has keys of one kind only: a map that would lose a member is refused. */
function fromMap(value: ReadonlyMap<unknown, unknown>): JsonValue {
  const entries = Array.from(value, ([key, item]) => [keyText(key), fromCel(item)] as const);
  if (new Set(entries.map(([key]) => key)).size === entries.length) return Object.fromEntries(entries);
  throw new Error("two keys of the result are the same in JSON");
}

/** Keys of maps that are no texts, as JSON would write them: `{1: "a", true: "b"}` is `{"1": "a", "true": "b"}`. */
const keyText = (key: unknown): string =>
  typeof key === "string" ? key : JSON.stringify(key instanceof UnsignedInt ? exactNumber(key.value) : fromCel(key));

/** The text of a value that JSON does not have: timestamps in RFC 3339, durations in seconds, bytes in base64. */
export function formatText(value: object): string {
  if (value instanceof Date) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof Uint8Array) return btoa(Array.from(value, (byte) => String.fromCharCode(byte)).join(""));
  if (isTextValue(value)) return value.toText();
  const named: { readonly name?: unknown } = value;
  if (typeof named.name === "string") return named.name;
  throw new Error("the result has no JSON form");
}

const isTextValue = (value: object): value is TextValue => "toText" in value && typeof value.toText === "function";

/** RFC 3339 without trailing zeros, as CEL's `string(timestamp)` gives. */
export const formatTimestamp = (at: Date): string => at.toISOString().replace(/\.?0*Z$/, "Z");

/** Seconds with as many decimals as needed and the unit, as CEL's `string(duration)` gives: `5400s`, `-0.5s`. */
export function formatDuration(duration: Duration): string {
  const nanos = duration.seconds * 1_000_000_000n + BigInt(duration.nanos);
  const size = nanos < 0n ? -nanos : nanos;
  const fraction = (size % 1_000_000_000n).toString().padStart(9, "0").replace(/0+$/, "");
  return `${nanos < 0n ? "-" : ""}${size / 1_000_000_000n}${fraction === "" ? "" : `.${fraction}`}s`;
}
