// Types of words are decided here alone; the library of YAML gives texts.

import type { Scalar, Tag } from "./node.ts";

// The core rules of the YAML library of the original (yaml.v3), which are not those of Kubernetes: `yes` is a text here.

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

// Go's numbers: prefixes for binary, octal and hexadecimal ones, and a leading zero means octal, if the digits let it.
const integer = /^([-+]?)(0[bB][01]+|0[oO][0-7]+|0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$/;
const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
// Both forms of the library: a day by itself, and RFC 3339 with more freedom in the number of digits and in what stands before the time.
const timestamp = /^(\d{4})-(\d\d?)-(\d\d?)(?:(?:[Tt]| +)(\d\d?):(\d\d?):(\d\d?)(?:\.\d+)?(?:[Zz]|[-+]\d\d?:\d\d)?)?$/;

/** What a plain scalar is. Longer digits than 64 bits hold are a float. O(length). */
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

/** A scalar that is a text, whatever it looks like. */
export const asText = (text: string): Scalar => ({ tag: "string", text, value: text });

/** A text as a number, if it is one; underscores separate digits. */
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

/** Days that no month has and hours that no day has make a text of it. */
function isTimestamp(text: string): boolean {
  const match = timestamp.exec(text);
  if (match === null) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1)
    .map((part) => Number(part ?? 0));
  const days = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  return month >= 1 && month <= 12 && day >= 1 && day <= days && hour < 24 && minute < 60 && second < 60;
}

/** Tags that say what a scalar is. */
const tags: Readonly<Record<string, Tag>> = {
  "tag:yaml.org,2002:str": "string",
  "tag:yaml.org,2002:bool": "boolean",
  "tag:yaml.org,2002:null": "null",
  "tag:yaml.org,2002:int": "integer",
  "tag:yaml.org,2002:float": "float",
  "tag:yaml.org,2002:timestamp": "timestamp",
};

/** A scalar with a tag: what its text is when it fits the tag, else undefined. Unknown tags leave the text. */
export function resolveTagged(tag: string, text: string): Scalar | undefined {
  const wanted = Object.hasOwn(tags, tag) ? tags[tag] : undefined;
  if (wanted === undefined || wanted === "string") return asText(text);
  const resolved = resolvePlain(text);
  if (wanted === "float" && resolved.tag === "integer") return { ...resolved, tag: "float" };
  return resolved.tag === wanted ? resolved : undefined;
}
