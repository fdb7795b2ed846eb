import { formatText } from "../values.ts";
import { asList, asText, checkLength, type LibraryFunction } from "./function.ts";

const verb = /%(?:\.(\d{1,2}))?([a-zA-Z%])/g;

/** CEL's `format`: `%s` any value, `%d` integers, `%f` and `%e` with `.precision`, `%b` `%x` `%X` `%o`, `%%`. */
function format(pattern: unknown, list: unknown): string {
  const values = asList(list);
  let next = 0;
  let length = 0;
  const text = asText(pattern).replace(verb, (_, precision: string | undefined, letter: string) => {
    if (letter === "%") return "%";
    if (next >= values.length) throw new Error(`format has only ${values.length} values`);
    const written = formatValue(letter, precision === undefined ? 6 : Number(precision), values[next]);
    next += 1;
    checkLength((length += written.length));
    return written;
  });
  return text;
}

function formatValue(letter: string, precision: number, value: unknown): string {
  switch (letter) {
    case "s":
      return formatAny(value);
    case "d":
      return typeof value === "bigint" || typeof value === "number" ? String(value) : mismatch("d", value);
    case "f":
      return isNumber(value) ? Number(value).toFixed(precision) : mismatch("f", value);
    case "e":
      return isNumber(value) ? exponential(Number(value), precision) : mismatch("e", value);
    case "b":
      return typeof value === "boolean" ? (value ? "1" : "0") : inBase("b", value, 2);
    case "o":
      return inBase("o", value, 8);
    case "x":
      return typeof value === "string" ? hexOf(value) : inBase("x", value, 16);
    case "X":
      return formatValue("x", precision, value).toUpperCase();
    default:
      throw new Error(`format does not know %${letter}`);
  }
}

const isNumber = (value: unknown): value is number | bigint => typeof value === "number" || typeof value === "bigint";

function mismatch(letter: string, value: unknown): never {
  throw new Error(`%${letter} cannot format ${formatAny(value)}`);
}

const inBase = (letter: string, value: unknown, base: number): string =>
  typeof value === "bigint" ? value.toString(base) : mismatch(letter, value);

const hexOf = (text: string): string =>
  Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Go writes at least two digits of an exponent. */
const exponential = (value: number, precision: number): string =>
  value.toExponential(precision).replace(/e([+-])(\d)$/, "e$10$2");

function formatAny(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map(formatAny).join(", ")}]`;
  const isPlain = value instanceof Map || Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain) return formatText(value);
  const entries: readonly (readonly [unknown, unknown])[] = value instanceof Map ? [...value] : Object.entries(value);
  const written = entries.map(([key, member]) => `${formatAny(key)}: ${formatAny(member)}`);
  return `{${written.sort().join(", ")}}`;
}

export const formatFunctions: readonly LibraryFunction[] = [{ signature: "string.format(list): string", call: format }];
