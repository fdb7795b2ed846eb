import { err, ok, type Result } from "#lib/base/index.ts";

/** What a plain scalar is in the YAML 1.1 profile of Kubernetes. */
export type Resolved = null | boolean | number | string;

const words: ReadonlyMap<string, null | boolean> = new Map([
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((word) => [word, false] as const),
]);

// Go's strconv with base 0: prefixes for hexadecimal, octal and binary, and a leading zero means octal.
const integer = /^[-+]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)$/;
const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const notFinite = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

/**
 * Resolves an unquoted scalar as the usual Kubernetes YAML library does: `yes`, `on` and `y` are booleans, `0755` is
 * octal, `_` separates digits, `1:30` and dates are texts. The error is a number that JSON cannot carry without loss,
 * such as a zero with a sign.
 */
export function resolvePlain(text: string): Result<Resolved, string> {
  const word = words.get(text);
  if (word !== undefined) return ok(word);
  if (notFinite.test(text)) return err(`${text} has no JSON form; put it in quotes if it is a text`);
  if (!/^[-+.0-9]/.test(text)) return ok(text);
  const digits = text.startsWith(".") ? text : text.replaceAll("_", "");
  if (integer.test(digits)) return resolveInteger(digits);
  // A lone sign or dot, versions such as 1.2.3, and "08:15" are texts.
  if (!float.test(digits)) return ok(text);
  const value = Number(digits);
  if (!Number.isFinite(value)) return err(`the number ${shorten(text)} is too large`);
  if (value === 0 && /[1-9]/.test(digits.replace(/[eE].*/, ""))) return err(`the number ${shorten(text)} is too small`);
  return Object.is(value, -0) ? err(negativeZero(digits)) : ok(value);
}

function resolveInteger(digits: string): Result<Resolved, string> {
  const unsigned = digits.replace(/^[-+]/, "");
  const value = Number(/^0[0-7]/.test(unsigned) ? `0o${unsigned.slice(1)}` : unsigned);
  if (!Number.isSafeInteger(value)) {
    return err(
      `the integer ${shorten(digits)} is beyond 2^53-1 and would lose digits; put it in quotes if it is a text`,
    );
  }
  if (!digits.startsWith("-")) return ok(value);
  return value === 0 ? err(negativeZero(digits)) : ok(-value);
}

const negativeZero = (digits: string): string =>
  `negative zero (${shorten(digits)}) has no exact form; put it in quotes if it is a text`;

// A scalar may be megabytes long; a message may not.
const shorten = (text: string): string => (text.length <= 40 ? text : `${text.slice(0, 40)}…`);

/** How a scalar that is a key is written as a text: `yes` becomes `true`, `010` becomes `8`. Null cannot be a key. */
export const keyText = (key: Exclude<Resolved, null>): string => (typeof key === "string" ? key : String(key));
