import { asList, asNumber, asText, checkLength, type LibraryFunction } from "./function.ts";

// CEL's strings extension, version 2, without `strings.quote`. What a function makes is bounded before it is made.

/** Positions count code points, as in CEL. Texts without surrogates, nearly all, need no conversion. */
const isShort = (text: string): boolean => !/[\ud800-\udfff]/.test(text);
const pointsOf = (text: string): readonly string[] => Array.from(text);
const countPoints = (text: string): number => (isShort(text) ? text.length : pointsOf(text).length);

/** `text` from one code point to another, the end excluded. */
function slice(text: string, start: number, end: number): string {
  return isShort(text) ? text.slice(start, end) : pointsOf(text).slice(start, end).join("");
}

/** The index in UTF-16 code units that lies behind so many code points. */
const unitsBefore = (text: string, points: number): number => (isShort(text) ? points : slice(text, 0, points).length);

/** The end itself is in range: it is where an empty text can be. */
function checkRange(index: number, length: number): void {
  if (index < 0 || index > length) throw new Error(`index ${index} is out of range 0 to ${length}`);
}

/** The end is exclusive, by default the text's end. Unlike JavaScript's, it swaps and cuts nothing. */
function substring(text: unknown, start: unknown, end?: unknown): string {
  const source = asText(text);
  const length = countPoints(source);
  const from = asNumber(start);
  const to = end === undefined ? length : asNumber(end);
  checkRange(from, length);
  checkRange(to, length);
  if (to < from) throw new Error(`the end ${to} is before the start ${from}`);
  return slice(source, from, to);
}

/** The first place at or behind `start`, -1 when there is none. The empty text is found at `start`. */
function indexOf(text: unknown, part: unknown, start?: unknown): bigint {
  const source = asText(text);
  const from = start === undefined ? 0 : asNumber(start);
  checkRange(from, countPoints(source));
  const found = source.indexOf(asText(part), unitsBefore(source, from));
  return BigInt(found === -1 ? -1 : countPoints(source.slice(0, found)));
}

/** The last place at or in front of `start`, which is the end unless told. */
function lastIndexOf(text: unknown, part: unknown, start?: unknown): bigint {
  const source = asText(text);
  const from = start === undefined ? countPoints(source) : asNumber(start);
  checkRange(from, countPoints(source));
  const found = source.lastIndexOf(asText(part), unitsBefore(source, from));
  return BigInt(found === -1 ? -1 : countPoints(source.slice(0, found)));
}

/** One code point; the empty text at the end. */
function charAt(text: unknown, index: unknown): string {
  const at = asNumber(index);
  checkRange(at, countPoints(asText(text)));
  return slice(asText(text), at, at + 1);
}

/** A negative limit means all; otherwise the last part keeps the rest of the text. */
function split(text: unknown, separator: unknown, limit?: unknown): readonly string[] {
  const most = limit === undefined ? -1 : asNumber(limit);
  const [source, by] = [asText(text), asText(separator)];
  const parts = by === "" ? pointsOf(source) : source.split(by);
  if (most === 0) return [];
  if (most < 0 || parts.length <= most) return parts;
  return [...parts.slice(0, most - 1), parts.slice(most - 1).join(by)];
}

/** Throws for items that are no texts: a list of JSON may hold anything. */
function join(list: unknown, separator: unknown = ""): string {
  const [parts, by] = [asList(list).map(asText), asText(separator)];
  checkLength(parts.reduce((sum, part) => sum + part.length + by.length, 0));
  return parts.join(by);
}

/** Replaces from the left; a negative count means all. An empty pattern matches at each character and at the end. */
function replace(text: unknown, pattern: unknown, replacement: unknown, count?: unknown): string {
  const [source, from, to] = [asText(text), asText(pattern), asText(replacement)];
  const most = count === undefined || asNumber(count) < 0 ? Number.POSITIVE_INFINITY : asNumber(count);
  const parts = from === "" ? ["", ...pointsOf(source), ""] : source.split(from);
  const replaced = Math.min(most, parts.length - 1);
  checkLength(source.length + replaced * to.length);
  return parts.slice(1).reduce((done, part, index) => done + (index < replaced ? to : from) + part, parts[0] ?? "");
}

// Unicode's White_Space, which is what Go trims. JavaScript's trim takes U+FEFF too and leaves U+0085.
const isBlank = (text: string, at: number): boolean =>
  /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/.test(text.charAt(at));

/** Walks in from both ends: an expression such as `\s+$` would look at blanks inside the text again and again. */
function trim(text: unknown): string {
  const source = asText(text);
  let [start, end] = [0, source.length];
  while (start < end && isBlank(source, start)) start += 1;
  while (end > start && isBlank(source, end - 1)) end -= 1;
  return source.slice(start, end);
}

/** Letters beyond ASCII stay, in every language. */
const lowerAscii = (text: unknown): string => asText(text).replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
const upperAscii = (text: unknown): string => asText(text).replace(/[a-z]+/g, (letters) => letters.toUpperCase());

/** `contains`, `startsWith`, `endsWith` and `size` are the CEL library's own: they agree with Kubernetes. */
export const stringFunctions: readonly LibraryFunction[] = [
  { signature: "string.charAt(int): string", call: charAt },
  { signature: "string.indexOf(string): int", call: indexOf, replaces: true },
  { signature: "string.indexOf(string, int): int", call: indexOf, replaces: true },
  { signature: "string.lastIndexOf(string): int", call: lastIndexOf, replaces: true },
  { signature: "string.lastIndexOf(string, int): int", call: lastIndexOf, replaces: true },
  { signature: "string.substring(int): string", call: substring, replaces: true },
  { signature: "string.substring(int, int): string", call: substring, replaces: true },
  { signature: "string.lowerAscii(): string", call: lowerAscii, replaces: true },
  { signature: "string.upperAscii(): string", call: upperAscii, replaces: true },
  { signature: "string.trim(): string", call: trim, replaces: true },
  { signature: "string.split(string): list<string>", call: split, replaces: true },
  { signature: "string.split(string, int): list<string>", call: split, replaces: true },
  { signature: "string.replace(string, string): string", call: replace },
  { signature: "string.replace(string, string, int): string", call: replace },
  { signature: "list.join(): string", call: join, replaces: true },
  { signature: "list.join(string): string", call: join, replaces: true },
];
