import { err, type JsonValue, ok, type Result } from "#lib/base/index.ts";

/** The unescaped reference tokens of a JSON Pointer; empty for the whole document. */
export type PointerTokens = readonly string[];

/** Reads a JSON Pointer (RFC 6901): empty, or tokens that each begin with `/`; `~1` is `/`, `~0` is `~`. */
export function parsePointer(text: string): Result<PointerTokens, string> {
  if (text === "") return ok([]);
  if (!text.startsWith("/")) return err(`expected a JSON pointer that begins with "/", found ${JSON.stringify(text)}`);
  const tokens = text.slice(1).split("/");
  if (!text.includes("~")) return ok(tokens);
  if (/~(?![01])/.test(text)) return err(`"~" must be followed by 0 or 1 in the JSON pointer ${JSON.stringify(text)}`);
  // RFC 6901 4: "~1" first, then "~0", so that "~01" is "~1" and not "/".
  return ok(tokens.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~")));
}

/** The inverse of `parsePointer`: `["a/b", "m~n"]` is `/a~1b/m~0n`. */
export const formatPointer = (tokens: PointerTokens): string =>
  tokens.map((token) => `/${token.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

/** An array index as RFC 6901 writes it (no sign, no leading zero), or undefined. */
export function parseArrayIndex(token: string): number | undefined {
  // Fifteen digits are exact as a number.
  if (!/^(?:0|[1-9]\d{0,14})$/.test(token)) return undefined;
  return Number(token);
}

/** The value a pointer names, or undefined when there is none. Inherited members such as `constructor` do not exist. */
export function getPointer(document: JsonValue, tokens: PointerTokens): JsonValue | undefined {
  let value: JsonValue | undefined = document;
  for (const token of tokens) {
    if (value === undefined) return undefined;
    value = getMember(value, token);
  }
  return value;
}

/** One step of `getPointer`: a member of an object or an item of an array. */
export function getMember(value: JsonValue, token: string): JsonValue | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (isArray(value)) {
    const index = parseArrayIndex(token);
    return index === undefined ? undefined : value[index];
  }
  return Object.hasOwn(value, token) ? value[token] : undefined;
}

const isArray = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);
