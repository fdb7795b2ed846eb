import { err, type FieldPath, formatFieldPath, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { countMembers, endOfString, scanJson } from "./scan.ts";

/** Why a text is not JSON that can be kept without loss. `offset` is in UTF-16 units (bytes for invalid UTF-8). */
export interface JsonError {
  /** `number-range`: a double would change it. `too-deep`: beyond the limit. `encoding`: no UTF-8. */
  readonly code: "syntax" | "too-deep" | "number-range" | "encoding";
  readonly message: string;
  readonly offset: number;
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
}

/** A repeated key of an object; `path` names the member (`spec.containers[0].name`), `offset` the repetition. */
export interface DuplicateKey {
  readonly path: string;
  readonly offset: number;
}

/** What a text says, and what JSON.parse would have hidden. */
export interface JsonDocument {
  readonly value: JsonValue;
  /** Repeated keys in the order of the text, at most the first 100. The last value of a key wins. */
  readonly duplicates: readonly DuplicateKey[];
}

export interface JsonReadLimits {
  /** Deepest nesting of objects and arrays; 200 unless told. Scalars count no level: `[[1]]` has two. */
  readonly maxDepth?: number;
}

/**
 * Reads exactly one JSON value (RFC 8259) from a text or UTF-8 bytes and reports repeated keys. Nothing is changed
 * silently: integers that a double cannot hold, numbers that overflow and negative zero are errors, and so are a byte
 * order mark and invalid UTF-8. `__proto__` and the like are ordinary keys. Cost is linear in the length of the text.
 */
export function readJson(input: string | Uint8Array, limits: JsonReadLimits = {}): Result<JsonDocument, JsonError> {
  const decoded = typeof input === "string" ? ok(input) : decodeUtf8(input);
  if (!decoded.ok) return decoded;
  const text = decoded.value;
  const maxDepth = limits.maxDepth ?? 200;
  const scan = scanJson(text, maxDepth);
  if (scan.suspicious) return readCarefully(text, maxDepth);
  try {
    const value: JsonValue = JSON.parse(text);
    // Fewer members than the text names means that a key was repeated.
    return countMembers(value) === scan.members ? ok({ value, duplicates: [] }) : readCarefully(text, maxDepth);
  } catch {
    // JSON.parse does not say where; the careful reader does.
    return readCarefully(text, maxDepth);
  }
}

/** The slow path: finds the place of the error, or the repeated keys. A text without faults is then read after all. */
function readCarefully(text: string, maxDepth: number): Result<JsonDocument, JsonError> {
  const found = diagnoseJson(text, maxDepth);
  if (!found.ok) return err(found.error);
  const value: JsonValue = JSON.parse(text);
  return ok({ value, duplicates: found.value });
}

/** `readJson` for callers to whom repeated keys do not matter. */
export function parseJson(input: string | Uint8Array, limits: JsonReadLimits = {}): Result<JsonValue, JsonError> {
  const document = readJson(input, limits);
  return document.ok ? ok(document.value.value) : document;
}

// Non-fatal decoding would put U+FFFD in the place of wrong bytes: two different keys could become one.
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes UTF-8 and keeps a byte order mark, which is then a syntax error at offset 0. */
export function decodeUtf8(bytes: Uint8Array): Result<string, JsonError> {
  try {
    return ok(strict.decode(bytes));
  } catch {
    return err(encodingError(bytes));
  }
}

/** At the first byte that cannot stand there; line and column count the complete characters before it. */
function encodingError(bytes: Uint8Array): JsonError {
  const offset = validPrefix(bytes);
  const before = new TextDecoder().decode(bytes.subarray(0, offset));
  const line = before.split("\n").length;
  const column = before.length - before.lastIndexOf("\n");
  return { code: "encoding", message: `invalid UTF-8 at byte ${offset}`, offset, line, column };
}

/** Length of the longest prefix that decodes, by bisection: a streaming decoder accepts a cut-off sequence. */
function validPrefix(bytes: Uint8Array): number {
  let good = 0;
  let bad = bytes.length;
  while (good < bad) {
    const middle = Math.ceil((good + bad) / 2);
    if (decodes(bytes.subarray(0, middle))) good = middle;
    else bad = middle - 1;
  }
  return good;
}

/** Whether bytes are UTF-8, but for a sequence that is cut off at their end. */
function decodes(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

// The grammar of RFC 8259 as a machine that never calls itself:
//
//   value ──▶ after ──"," in an array──▶ value      first-item, first-key: like value and key, but the collection may close
//     ▲         └────"," in an object──▶ key        end: behind the last character of the text
//     └──────────────":"─────────────────┘
//
// It builds nothing: when it finds no fault, JSON.parse may be trusted with the text.

/**
 * The careful reader: checks a text that the fast path could not vouch for and returns its first error, or the first
 * 100 repeated keys. Keeps its own stack, so that no depth of nesting can overflow the call stack. Linear in the text.
 */
export function diagnoseJson(text: string, maxDepth: number): Result<readonly DuplicateKey[], JsonError> {
  const walk: Walk = { text, maxDepth, frames: [], duplicates: [], at: 0 };
  let state: State = "value";
  while (state !== "end") {
    walk.at = skipBlanks(text, walk.at);
    const next: State | Fault = steps[state](walk);
    if (typeof next !== "string") return err(locate(text, next));
    state = next;
  }
  return ok(walk.duplicates);
}

/** What may come next, behind blanks. */
type State = "value" | "first-item" | "first-key" | "key" | "after" | "end";

/** An error before its line and column are known: they cost a walk over the text. */
interface Fault {
  readonly code: JsonError["code"];
  readonly message: string;
  readonly offset: number;
}

interface Frame {
  /** Keys seen so far; undefined in an array. */
  readonly keys: Set<string> | undefined;
  /** The member or item that is being read: a part of the path of everything found inside. */
  place: string | number;
}

interface Walk {
  readonly text: string;
  readonly maxDepth: number;
  /** The open collections, outermost first. */
  readonly frames: Frame[];
  readonly duplicates: DuplicateKey[];
  /** Offset of the next character to read. */
  at: number;
}

/** As many as Kubernetes' strict decoding reports. Each costs its whole path, and a key may be megabytes long. */
const mostDuplicates = 100;

/** Each step reads one thing, moves `at` behind it and says what may follow. */
const steps: Readonly<Record<Exclude<State, "end">, (walk: Walk) => State | Fault>> = {
  value: readValue,
  "first-item": (walk) => (walk.text[walk.at] === "]" ? leave(walk) : readValue(walk)),
  "first-key": (walk) => (walk.text[walk.at] === "}" ? leave(walk) : readKey(walk)),
  key: readKey,
  after: readAfter,
};

function readValue(walk: Walk): State | Fault {
  const char = walk.text[walk.at];
  if (char === "{" || char === "[") return enter(walk, char);
  if (char === '"') return readString(walk) ?? "after";
  for (const literal of ["true", "false", "null"]) {
    if (walk.text.startsWith(literal, walk.at)) {
      walk.at += literal.length;
      return "after";
    }
  }
  return readNumber(walk) ?? "after";
}

/** Opens a collection; the limit counts open ones, so that `maxDepth` levels pass and one more does not. */
function enter(walk: Walk, bracket: "{" | "["): State | Fault {
  if (walk.frames.length >= walk.maxDepth) {
    return { code: "too-deep", message: `nested deeper than ${walk.maxDepth} levels`, offset: walk.at };
  }
  walk.at += 1;
  walk.frames.push(bracket === "{" ? { keys: new Set(), place: "" } : { keys: undefined, place: 0 });
  return bracket === "{" ? "first-key" : "first-item";
}

function leave(walk: Walk): State {
  walk.frames.pop();
  walk.at += 1;
  return "after";
}

function readAfter(walk: Walk): State | Fault {
  const frame = walk.frames.at(-1);
  const char = walk.text[walk.at];
  if (frame === undefined) return char === undefined ? "end" : expected(walk, "the end of the text");
  if (char === (frame.keys === undefined ? "]" : "}")) return leave(walk);
  if (char !== ",") return expected(walk, frame.keys === undefined ? `"," or "]"` : `"," or "}"`);
  walk.at += 1;
  if (typeof frame.place === "number") frame.place += 1;
  return frame.keys === undefined ? "value" : "key";
}

/** A key with its colon. Keys are compared unescaped: `"a"` and `"\\u0061"` are the same. */
function readKey(walk: Walk): State | Fault {
  const start = walk.at;
  if (walk.text[start] !== '"') return expected(walk, "a key in double quotes");
  const fault = readString(walk);
  if (fault !== undefined) return fault;
  const key: unknown = JSON.parse(walk.text.slice(start, walk.at));
  noteKey(walk, String(key), start);
  walk.at = skipBlanks(walk.text, walk.at);
  if (walk.text[walk.at] !== ":") return expected(walk, `":"`);
  walk.at += 1;
  return "value";
}

function noteKey(walk: Walk, key: string, offset: number): void {
  const frame = walk.frames.at(-1);
  if (frame?.keys === undefined) return;
  frame.place = key;
  if (frame.keys.has(key) && walk.duplicates.length < mostDuplicates) {
    walk.duplicates.push({ path: formatFieldPath(pathOf(walk.frames)), offset });
  }
  frame.keys.add(key);
}

const pathOf = (frames: readonly Frame[]): FieldPath => frames.map((frame) => frame.place);
const hexEscape = /u[0-9a-fA-F]{4}/y;

/** Offset of the first invalid escape sequence, or -1. A string may consist of a million valid ones. */
function unknownEscape(body: string): number {
  let at = body.indexOf("\\");
  while (at !== -1) {
    hexEscape.lastIndex = at + 1;
    const isKnown = '"\\/bfnrt'.includes(body[at + 1] ?? "?") || hexEscape.test(body);
    if (!isKnown) return at;
    at = body.indexOf("\\", at + 2);
  }
  return -1;
}

function readString(walk: Walk): Fault | undefined {
  const start = walk.at;
  const end = endOfString(walk.text, start);
  if (end === walk.text.length) return { code: "syntax", message: "the string is not closed", offset: start };
  const body = walk.text.slice(start + 1, end);
  const control = body.search(/[\u0000-\u001f]/);
  if (control !== -1) {
    const message = `the control character ${JSON.stringify(body[control])} must be escaped in a string`;
    return { code: "syntax", message, offset: start + 1 + control };
  }
  const wrong = unknownEscape(body);
  if (wrong !== -1) {
    return { code: "syntax", message: "unknown escape sequence in a string", offset: start + 1 + wrong };
  }
  walk.at = end + 1;
  return undefined;
}

// No leading zeros, no bare dot, no plus sign: RFC 8259 section 6. The groups tell an integer from a fraction.
const number = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;

function readNumber(walk: Walk): Fault | undefined {
  number.lastIndex = walk.at;
  const match = number.exec(walk.text);
  if (match === null) return expected(walk, "a value");
  const fault = checkNumber(match[0], match[1] === undefined && match[2] === undefined);
  if (fault !== undefined) return { code: "number-range", message: fault, offset: walk.at };
  walk.at = number.lastIndex;
  return undefined;
}

/** Why reading changes a number, or undefined. Rounding a fraction to a double's precision is no change. */
function checkNumber(text: string, isInteger: boolean): string | undefined {
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  const value = Number(text);
  if (isInteger && !Number.isSafeInteger(value)) return `the integer ${shown} is beyond 2^53-1 and would lose digits`;
  if (!Number.isFinite(value)) return `the number ${shown} is too large`;
  if (Object.is(value, -0)) return `negative zero (${shown}) has no exact form`;
  if (value === 0 && /[1-9]/.test(text.replace(/[eE].*/, ""))) return `the number ${shown} is too small`;
  return undefined;
}

/** What stands at the place instead, shown as a whole code point. */
function expected(walk: Walk, what: string): Fault {
  const offset = walk.at;
  const char = walk.text.codePointAt(offset);
  if (char === undefined) return { code: "syntax", message: `expected ${what}, found the end of the text`, offset };
  if (char === 0xfeff) return { code: "syntax", message: "a byte order mark is not allowed", offset };
  return { code: "syntax", message: `expected ${what}, found ${JSON.stringify(String.fromCodePoint(char))}`, offset };
}

/** JSON's four blanks only; others, such as a no-break space, are errors. */
function skipBlanks(text: string, start: number): number {
  let at = start;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at += 1;
  return at;
}

/** Counts lines by line feeds, so that `\\r\\n` is one break and a column counts UTF-16 code units from 1. */
function locate(text: string, fault: Fault): JsonError {
  let [line, lineStart] = [1, 0];
  for (let at = text.indexOf("\n"); at !== -1 && at < fault.offset; at = text.indexOf("\n", at + 1)) {
    line += 1;
    lineStart = at + 1;
  }
  return { ...fault, line, column: fault.offset - lineStart + 1 };
}
