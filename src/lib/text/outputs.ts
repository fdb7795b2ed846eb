import { err, isJsonObject, type JsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";

/** Why the text a step wrote as its outputs cannot be read. `line` counts from 1. */
export interface OutputsError {
  readonly line: number;
  readonly message: string;
}

/**
 * Reads what a step wrote to its output file: one JSON object, or lines of `key=value`, where `key<<END` starts a value
 * of several lines that a line `END` closes. Blank lines and lines that start with `#` are skipped; the last value of a
 * key wins; values of the line form are texts, kept exactly as written. All errors are reported at once: one per wrong
 * line, none for the lines of a block whose key is wrong. Linear in the text; the caller bounds its length (Kubernetes'
 * bound for a termination message is 4,096 bytes).
 */
export function parseOutputs(text: string): Result<JsonObject, readonly OutputsError[]> {
  const trimmed = text.trimStart();
  return trimmed.startsWith("{") ? parseObject(text) : parseLines(text.split(/\r?\n/));
}

function parseObject(text: string): Result<JsonObject, readonly OutputsError[]> {
  const parsed = parseJson(text);
  if (!parsed.ok) return err([{ line: parsed.error.line, message: parsed.error.message }]);
  // The text starts with a brace, so that a value which parses is an object.
  return isJsonObject(parsed.value) ? ok(parsed.value) : err([{ line: 1, message: "expected a JSON object" }]);
}

// Keys are used as `steps.build.outputs.key` in expressions; "-" and "." are reached with brackets.
const keyShape = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

function parseLines(lines: readonly string[]): Result<JsonObject, readonly OutputsError[]> {
  const outputs = new Map<string, JsonValue>();
  const errors: OutputsError[] = [];
  for (let index = 0; index < lines.length; ) {
    const { next, key, text, error } = parseEntry(lines, index);
    if (error !== undefined) errors.push(error);
    else if (key !== undefined) outputs.set(key, text ?? "");
    index = next;
  }
  // fromEntries defines own members, so that "__proto__" is an ordinary key.
  return errors.length > 0 ? err(errors) : ok(Object.fromEntries(outputs));
}

/** One entry, whether right or wrong; neither a key nor an error for a line that says nothing. */
interface Entry {
  /** Index of the first line behind the entry: every line is looked at once. */
  readonly next: number;
  readonly key?: string;
  readonly text?: string;
  readonly error?: OutputsError;
}

function parseEntry(lines: readonly string[], index: number): Entry {
  const line = lines[index] ?? "";
  const next = index + 1;
  if (line.trim() === "" || line.startsWith("#")) return { next };
  const equals = line.indexOf("=");
  const marker = line.indexOf("<<");
  // `a=x<<y` is the text "x<<y", `a<<y=x` is a block that the line "y=x" closes.
  if (marker !== -1 && (equals === -1 || marker < equals)) return parseBlock(lines, index, marker);
  if (equals === -1) return { next, error: { line: next, message: `expected key=value, found ${shown(line)}` } };
  return { next, ...checkKey(line.slice(0, equals), next, line.slice(equals + 1)) };
}

/** A block's lines joined by line feeds, without one at the end; the closing line must match exactly. */
function parseBlock(lines: readonly string[], index: number, marker: number): Entry {
  const line = lines[index] ?? "";
  const number = index + 1;
  const end = line.slice(marker + 2).trim();
  if (end === "") {
    return { next: number, error: { line: number, message: `expected an end marker behind "<<", as in key<<END` } };
  }
  const close = lines.indexOf(end, number);
  if (close === -1) {
    const message = `expected the line ${shown(end)} that closes line ${number}`;
    return { next: lines.length, error: { line: lines.length, message } };
  }
  return { next: close + 1, ...checkKey(line.slice(0, marker), number, lines.slice(number, close).join("\n")) };
}

function checkKey(name: string, line: number, text: string): Omit<Entry, "next"> {
  const key = name.trim();
  if (keyShape.test(key)) return { key, text };
  return { error: { line, message: `expected a key of letters, digits, "_", "-" and ".", found ${shown(key)}` } };
}

// A step may write a megabyte without a line break; its status is no place for that.
const longestShown = 100;
const shown = (text: string): string =>
  JSON.stringify(text.length > longestShown ? `${text.slice(0, longestShown)}…` : text);
