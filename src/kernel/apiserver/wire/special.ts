import { formatTime, type JsonValue } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import { malformed } from "./wire-reader.ts";

// Types of the Kubernetes API whose JSON is not the object of their fields.

/** The fields of a message as they were decoded. Zeros are absent. */
export type Fields = Readonly<Record<string, JsonValue | undefined>>;

/** Makes the JSON of a message from its fields; undefined when JSON has no such member. `at` is where the message starts. */
export type Special = (fields: Fields, at: number) => JsonValue | undefined;

/** What JSON shows of a message that holds JSON as bytes in its first field. */
export const jsonTypes: ReadonlySet<string> = new Set([
  "apiextensions.v1.JSON",
  "apis.meta.v1.FieldsV1",
  "runtime.RawExtension",
]);

/** The value that these bytes write down; 400 when they do not. */
export function embeddedJson(bytes: Uint8Array, at: number): JsonValue | undefined {
  if (bytes.length === 0) return undefined;
  const read = parseJson(bytes);
  if (!read.ok) throw malformed(at, `the JSON inside cannot be read: ${read.error.message}`);
  return read.value;
}

/** Absent is 0 in protobuf. */
const numberOf = (value: JsonValue | undefined): number => (typeof value === "number" ? value : 0);
const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

/** Go sends its zero time as an empty message, and 1970 as one with its zeros; here both are without fields, and absent. */
function timeOf({ seconds, nanos }: Fields, at: number) {
  if (seconds === undefined && nanos === undefined) return undefined;
  const whole = numberOf(seconds);
  const rest = numberOf(nanos);
  // RFC 3339 knows the years 1 to 9999.
  if (whole < -62_135_596_800 || whole > 253_402_300_799) throw malformed(at, `${whole} s since 1970 is no time`);
  if (rest < 0 || rest > 999_999_999) throw malformed(at, `${rest} is no number of nanoseconds`);
  return { text: formatTime(whole * 1000), micros: Math.floor(rest / 1000) };
}

/** Leases and Events count in microseconds, and Go writes all six digits. */
function microTime(fields: Fields, at: number): JsonValue | undefined {
  const time = timeOf(fields, at);
  return time === undefined ? undefined : `${time.text.slice(0, -1)}.${String(time.micros).padStart(6, "0")}Z`;
}

/** Ports and budgets: a number, or a name or share. The unused half is sent too, and means nothing. */
function intOrString({ type, intVal, strVal }: Fields, at: number): JsonValue {
  const kind = numberOf(type);
  if (kind !== 0 && kind !== 1) throw malformed(at, `${kind} says neither integer (0) nor string (1)`);
  return kind === 0 ? numberOf(intVal) : textOf(strVal);
}

/** By the name of the message. */
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
