import type { Scalar, Tag } from "./node.ts";

// The core rules of the original's YAML library (yaml.v3): `yes` is a text.

const words: ReadonlyMap<string, Scalar["value"]> = new Map([
  ...["true", "True", "TRUE"].map((word) => [word, true] as const),
  ...["false", "False", "FALSE"].map((word) => [word, false] as const),
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
]);
const notFinite: ReadonlyMap<string, number> = new Map([
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, Number.NaN] as const),
  ...[".inf", ".Inf", ".INF"].flatMap((word) => [
    [word, Number.POSITIVE_INFINITY] as const,
    [`+${word}`, Number.POSITIVE_INFINITY] as const,
    [`-${word}`, Number.NEGATIVE_INFINITY] as const,
  ]),
]);

// Go's numbers: prefixes 0b, 0o and 0x, and a leading zero means octal if the digits allow it.
const integer = /^([-+]?)(0[bB][01]+|0[oO][0-7]+|0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$/;
const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
// Both forms of yaml.v3: a date, and RFC 3339 with fewer digits and other separators.
const timestamp = /^(\d{4})-(\d\d?)-(\d\d?)(?:(?:[Tt]| +)(\d\d?):(\d\d?):(\d\d?)(?:\.\d+)?(?:[Zz]|[-+]\d\d?:\d\d)?)?$/;

/** The value of a plain scalar. Integers beyond 64 bits are floats. */
export function resolvePlain(text: string): Scalar {
  const word = words.get(text);
  if (word !== undefined) return { tag: word === null ? "null" : "boolean", text, value: word };
  if (text === "<<") return { tag: "merge", text, value: text };
  const special = notFinite.get(text);
  if (special !== undefined) return { tag: "float", text, value: special };
  if (!/^[-+.0-9]/.test(text)) return asText(text);
  if (isTimestamp(text)) return { tag: "timestamp", text, value: text };
  return resolveNumber(text) ?? asText(text);
}

export const asText = (text: string): Scalar => ({ tag: "string", text, value: text });

/** Underscores separate digits. */
export function resolveNumber(text: string): Scalar | undefined {
  const digits = text.startsWith(".") ? text : text.replaceAll("_", "");
  const whole = integer.exec(digits);
  if (whole !== null) {
    const [, sign = "", body = ""] = whole;
    const exact = BigInt(/^0[0-7]/.test(body) ? `0o${body}` : body.toLowerCase());
    const value = sign === "-" ? -exact : exact;
    if (value >= -(2n ** 63n) && value < 2n ** 64n) return { tag: "integer", text, value: Number(value) };
  }
  return float.test(digits) ? { tag: "float", text, value: Number(digits) } : undefined;
}

/** Dates and times that do not exist are texts. */
function isTimestamp(text: string): boolean {
  const match = timestamp.exec(text);
  if (match === null) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1)
    .map((part) => Number(part ?? 0));
  const days = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  return month >= 1 && month <= 12 && day >= 1 && day <= days && hour < 24 && minute < 60 && second < 60;
}

const tags: Readonly<Record<string, Tag>> = {
  "tag:yaml.org,2002:str": "string",
  "tag:yaml.org,2002:bool": "boolean",
  "tag:yaml.org,2002:null": "null",
  "tag:yaml.org,2002:int": "integer",
  "tag:yaml.org,2002:float": "float",
  "tag:yaml.org,2002:timestamp": "timestamp",
};

/** The scalar if its text fits the tag, else undefined. Unknown tags are ignored. */
export function resolveTagged(tag: string, text: string): Scalar | undefined {
  const wanted = Object.hasOwn(tags, tag) ? tags[tag] : undefined;
  if (wanted === undefined || wanted === "string") return asText(text);
  const resolved = resolvePlain(text);
  if (wanted === "float" && resolved.tag === "integer") return { ...resolved, tag: "float" };
  return resolved.tag === wanted ? resolved : undefined;
}
