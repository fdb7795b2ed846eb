import { formatTime, type JsonValue } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import { malformed } from "./wire-reader.ts";

// Types whose JSON is not an object of their fields.

export type Fields = Readonly<Record<string, JsonValue | undefined>>;

/** Undefined when JSON has no such member. `at` is where the message starts. */
export type Special = (fields: Fields, at: number) => JsonValue | undefined;

/** Messages that hold JSON as bytes in their first field. */
export const jsonTypes: ReadonlySet<string> = new Set([
  "apiextensions.v1.JSON",
  "apis.meta.v1.FieldsV1",
  "runtime.RawExtension",
]);

export function embeddedJson(bytes: Uint8Array, at: number): JsonValue | undefined {
  if (bytes.length === 0) return undefined;
  const read = parseJson(bytes);
  if (!read.ok) throw malformed(at, `the JSON inside cannot be read: ${read.error.message}`);
  return read.value;
}

const numberOf = (value: JsonValue | undefined): number => (typeof value === "number" ? value : 0);
const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

/** Go's zero time and 1970 are both empty here, and absent. */
function timeOf({ seconds, nanos }: Fields, at: number) {
  if (seconds === undefined && nanos === undefined) return undefined;
  const whole = numberOf(seconds);
  const rest = numberOf(nanos);
  // RFC 3339 has years 1 to 9999.
  if (whole < -62_135_596_800 || whole > 253_402_300_799) throw malformed(at, `${whole} s since 1970 is no time`);
  if (rest < 0 || rest > 999_999_999) throw malformed(at, `${rest} is no number of nanoseconds`);
  return { text: formatTime(whole * 1000), micros: Math.floor(rest / 1000) };
}

/** With six digits, as in Go. */
function microTime(fields: Fields, at: number): JsonValue | undefined {
  const time = timeOf(fields, at);
  return time === undefined ? undefined : `${time.text.slice(0, -1)}.${String(time.micros).padStart(6, "0")}Z`;
}

/** The unused half is sent too. */
function intOrString({ type, intVal, strVal }: Fields, at: number): JsonValue {
  const kind = numberOf(type);
  if (kind !== 0 && kind !== 1) throw malformed(at, `${kind} says neither integer (0) nor string (1)`);
  return kind === 0 ? numberOf(intVal) : textOf(strVal);
}

export const specials: ReadonlyMap<string, Special> = new Map<string, Special>([
  ["api.resource.Quantity", ({ string }) => string],
  ["apis.meta.v1.Time", (fields, at) => timeOf(fields, at)?.text],
  ["apis.meta.v1.MicroTime", microTime],
  ["util.intstr.IntOrString", intOrString],
  ["authentication.v1.ExtraValue", ({ items }) => items ?? []],
  ["authorization.v1.ExtraValue", ({ items }) => items ?? []],
  ["certificates.v1.ExtraValue", ({ items }) => items ?? []],
  ["apiextensions.v1.JSONSchemaPropsOrArray", ({ schema, jSONSchemas }) => jSONSchemas ?? schema ?? {}],
  ["apiextensions.v1.JSONSchemaPropsOrBool", ({ schema, allows }) => schema ?? allows ?? false],
  ["apiextensions.v1.JSONSchemaPropsOrStringArray", ({ schema, property }) => property ?? schema ?? {}],
]);
