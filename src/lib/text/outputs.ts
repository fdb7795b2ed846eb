import { err, isJsonObject, type JsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";

/** Why the text a step wrote as its outputs cannot be read. `line` counts from 1. */
export interface OutputsError {
  readonly line: number;
  readonly message: string;
}

/**
 * Reads what a step wrote to its output file: one JSON object, or lines of `key=value`, where `key<<END` starts a value of
 * several lines that a line `END` closes. Blank lines and lines that start with `#` are skipped; the last value of a key
 * wins; values of the line form are texts, kept exactly as written. All errors are reported at once.
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

const keyShape = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

function parseLines(lines: readonly string[]): Result<JsonObject, readonly OutputsError[]> {
  const outputs = new Map<string, JsonValue>();
  const errors: OutputsError[] = [];
  let index = 0;
  while (index < lines.length) {
    const entry = parseEntry(lines, index);
    if (!entry.ok) errors.push(entry.error);
    else if (entry.value.key !== "") outputs.set(entry.value.key, entry.value.text);
    index = entry.ok ? entry.value.next : entry.error.line;
  }
  return errors.length > 0 ? err(errors) : ok(Object.fromEntries(outputs));
}

interface Entry {
  /** Empty for a line that says nothing. */
  readonly key: string;
  readonly text: string;
  /** Index of the first line behind the entry. */
  readonly next: number;
}

function parseEntry(lines: readonly string[], index: number): Result<Entry, OutputsError> {
  const line = lines[index] ?? "";
  if (line.trim() === "" || line.startsWith("#")) return ok({ key: "", text: "", next: index + 1 });
  const equals = line.indexOf("=");
  const marker = line.indexOf("<<");
  if (marker !== -1 && (equals === -1 || marker < equals)) return parseBlock(lines, index, marker);
  if (equals === -1) return err({ line: index + 1, message: `expected key=value, found ${JSON.stringify(line)}` });
  return checkKey(line.slice(0, equals), index, { text: line.slice(equals + 1), next: index + 1 });
}

function parseBlock(lines: readonly string[], index: number, marker: number): Result<Entry, OutputsError> {
  const line = lines[index] ?? "";
  const end = line.slice(marker + 2).trim();
  if (end === "") return err({ line: index + 1, message: `expected an end marker behind "<<", as in key<<END` });
  const close = lines.indexOf(end, index + 1);
  if (close === -1) {
    return err({
      line: lines.length,
      message: `expected the line ${JSON.stringify(end)} that closes line ${index + 1}`,
    });
  }
  return checkKey(line.slice(0, marker), index, { text: lines.slice(index + 1, close).join("\n"), next: close + 1 });
}

function checkKey(name: string, index: number, rest: Omit<Entry, "key">): Result<Entry, OutputsError> {
  const key = name.trim();
  if (keyShape.test(key)) return ok({ key, ...rest });
  const message = `expected a key of letters, digits, "_", "-" and ".", found ${JSON.stringify(key)}`;
  return err({ line: index + 1, message });
}
