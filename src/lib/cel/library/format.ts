import { UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import { formatText } from "../values.ts";
import { asInteger, asList, asText, checkLength, isBytes, type LibraryFunction } from "./function.ts";

// `format` of CEL's strings extension:
//
//   %s  any value; texts without quotes, bytes as UTF-8, maps sorted by their keys     %%  a percent sign
//   %d  an integer      %f  fixed point      %e  scientific      the last two with `.precision`, 6 unless told
//   %b  an integer or a bool in base 2       %o  an integer in base 8
//   %x  an integer, a text or bytes in base 16, %X in capitals
//
// JSON does not tell 2 from 2.0, so that %d takes a double without a fraction and %f and %e take integers, which CEL
// does not.

// Everything behind a percent sign is a verb or an error: a text for people with a forgotten "%%" must not pass
// unnoticed.
const verb = /%(\.\d*)?([^]?)/gu;
const defaultPrecision = 6;

/**
 * Fills each verb with the next value. Values that no verb takes are ignored. Throws for unknown verbs, missing values
 * and values that do not fit their verb. Stops as soon as the text grows too long.
 */
function format(pattern: unknown, list: unknown): string {
  const values = asList(list);
  let next = 0;
  let length = 0;
  return asText(pattern).replace(verb, (_, precision: string | undefined, letter: string) => {
    if (letter === "%" && precision === undefined) return "%";
    if (next >= values.length && verbs.has(letter)) throw new Error(`format has only ${values.length} values`);
    const written = formatValue(letter, precision, values[next]);
    next += 1;
    checkLength((length += written.length));
    return written;
  });
}

const verbs: ReadonlySet<string> = new Set("sdfeboxX");

/** One value under one verb. Flags and widths, which Go's fmt has, CEL does not have. */
function formatValue(letter: string, precision: string | undefined, value: unknown): string {
  const withPrecision = letter === "f" || letter === "e";
  if (!verbs.has(letter) || (precision !== undefined && !withPrecision)) {
    throw new Error(`format does not know %${precision ?? ""}${letter}`);
  }
  switch (letter) {
    case "s":
      return formatAny(value);
    case "d":
      return formatInteger(value);
    case "b":
      return typeof value === "boolean" ? (value ? "1" : "0") : inBase("b", value, 2);
    case "o":
      return inBase("o", value, 8);
    case "x":
    case "X":
      return letter === "x" ? hexadecimal(letter, value) : hexadecimal(letter, value).toUpperCase();
    default:
      return formatDouble(letter, digitsOf(precision), value);
  }
}

/** Enough for every double; toFixed ends at 100. */
const mostDigits = 99;

function digitsOf(precision: string | undefined): number {
  if (precision === undefined) return defaultPrecision;
  const digits = Number(precision.slice(1));
  if (precision === "." || digits > mostDigits)
    throw new Error(`format takes a precision of 0 to ${mostDigits} digits`);
  return digits;
}

function mismatch(letter: string, value: unknown): never {
  throw new Error(`%${letter} cannot format ${formatAny(value)}`);
}

/** Doubles without a fraction pass, because JSON has them; "NaN" and "Infinity" pass as in CEL. */
function formatInteger(value: unknown): string {
  if (typeof value === "number" && (Number.isInteger(value) || !Number.isFinite(value))) return String(value);
  return String(asInteger(value) ?? mismatch("d", value));
}

function formatDouble(letter: string, digits: number, value: unknown): string {
  const number = typeof value === "number" ? value : Number(asInteger(value) ?? mismatch(letter, value));
  if (letter === "e") return exponential(number, digits);
  // toFixed gives up its form at 1e21; such doubles are integers.
  if (Number.isFinite(number) && Math.abs(number) >= 1e21)
    return `${BigInt(number)}${digits > 0 ? "." : ""}${"0".repeat(digits)}`;
  return number.toFixed(digits);
}

/** Go writes at least two digits of an exponent. */
const exponential = (value: number, digits: number): string =>
  value.toExponential(digits).replace(/e([+-])(\d)$/, "e$10$2");

/** Negative integers have their sign in front, as in Go: `-101`, not two's complement. */
const inBase = (letter: string, value: unknown, base: number): string =>
  (asInteger(value) ?? mismatch(letter, value)).toString(base);

/** Texts and bytes as the digits of their bytes, integers as a number. */
function hexadecimal(letter: string, value: unknown): string {
  if (typeof value === "string") return hexOf(new TextEncoder().encode(value));
  return isBytes(value) ? hexOf(value) : inBase(letter, value, 16);
}

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** `%s`. Values inside of lists and maps are written like those outside, so that texts have no quotes anywhere. */
function formatAny(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map(formatAny).join(", ")}]`;
  if (value instanceof UnsignedInt) return String(value.value);
  if (isBytes(value)) return new TextDecoder().decode(value);
  const isPlain = value instanceof Map || Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain) return formatText(value);
  const entries: readonly (readonly [unknown, unknown])[] = value instanceof Map ? [...value] : Object.entries(value);
  const written = entries.map(([key, member]) => `${formatAny(key)}: ${formatAny(member)}`);
  return `{${written.sort().join(", ")}}`;
}

export const formatFunctions: readonly LibraryFunction[] = [{ signature: "string.format(list): string", call: format }];
