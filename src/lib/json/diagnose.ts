import { err, type FieldPath, formatFieldPath, ok, type Result } from "#lib/base/index.ts";
import type { DuplicateKey, JsonError } from "./parse.ts";
import { endOfString } from "./scan.ts";

// The grammar of RFC 8259 as a machine that never calls itself:
//
//   value ──▶ after ──"," in an array──▶ value      first-item, first-key: like value and key, but the collection may close
//     ▲         └────"," in an object──▶ key        end: behind the last character of the text
//     └──────────────":"─────────────────┘
//
// It builds nothing: when it finds no fault, JSON.parse may be trusted with the text.

/**
 * The careful reader: checks a text that the fast path could not vouch for and returns its first error, or the first 100
 * repeated keys. Keeps its own stack, so that no depth of nesting can overflow the call stack. Linear in the text.
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

/** Offset of the first escape sequence that JSON does not have, or -1. A string may consist of a million of those it has. */
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

/** Why a number would be changed by reading it, or undefined. Rounding a fraction to a double's precision is no change. */
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
