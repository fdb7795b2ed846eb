import { err, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import {
  type Cursor,
  type JsonPathError,
  type ParsedPath,
  parsePath,
  parseQuoted,
  selectPath,
  skipBlanks,
  spend,
  type StepBudget,
  unexpected,
  withinBudget,
} from "./json-path.ts";

/** A compiled `-o jsonpath=` template. Immutable; may be rendered any number of times. */
export interface JsonPathTemplate {
  /** Values of a path are separated by blanks; objects and arrays are JSON. Fails only on the step limit. */
  render(root: JsonValue): Result<string, string>;
}

/** In UTF-16 code units. Ranges nest by recursion, so that this bounds the call stack as well. */
const longestTemplate = 16_384;

/**
 * Compiles kubectl's template form: text and `{…}` with paths, quoted texts, `range` and `end`, as in `{range
 * .items[*]}{.metadata.name}{"\\n"}{end}`. Paths in a range start at its item, those with `$` at the document. The
 * first error is returned, with its column.
 */
export function compileJsonPathTemplate(source: string): Result<JsonPathTemplate, JsonPathError> {
  if (source.length > longestTemplate) {
    return err({ message: `longer than ${longestTemplate} characters`, column: longestTemplate });
  }
  const cursor: Cursor = { source, at: 0 };
  const parts = parseParts(cursor, undefined);
  if (!parts.ok) return parts;
  return ok({ render: (root) => withinBudget((budget) => renderParts(parts.value, root, root, budget)) });
}

/** What rendering needs; a range holds its body. */
type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "path"; readonly path: ParsedPath }
  | { readonly kind: "range"; readonly path: ParsedPath; readonly body: readonly Part[] };

/** One `{…}` as it is read: ranges are still open and closed by actions of their own. */
type Action = Part | { readonly kind: "end" } | { readonly kind: "open"; readonly path: ParsedPath };

// Two passes over the same grammar: `parseAction` reads one `{…}` or the text up to it, `parseParts` nests what lies
// between `range` and `end`.

/** Reads parts to the end of the source, or to the `{end}` of the range that was opened at the offset `opened`. */
function parseParts(cursor: Cursor, opened: number | undefined): Result<readonly Part[], JsonPathError> {
  const parts: Part[] = [];
  while (cursor.at < cursor.source.length) {
    const start = cursor.at;
    const action = parseAction(cursor);
    if (!action.ok) return action;
    if (action.value.kind === "end") {
      return opened === undefined ? err({ message: "{end} without {range}", column: start + 1 }) : ok(parts);
    }
    if (action.value.kind === "open") {
      const body = parseParts(cursor, start);
      if (!body.ok) return body;
      parts.push({ kind: "range", path: action.value.path, body: body.value });
    } else {
      parts.push(action.value);
    }
  }
  return opened === undefined ? ok(parts) : err({ message: "{range} without {end}", column: opened + 1 });
}

function parseAction(cursor: Cursor): Result<Action, JsonPathError> {
  if (cursor.source[cursor.at] !== "{") return ok({ kind: "text", text: takeText(cursor) });
  cursor.at += 1;
  skipBlanks(cursor);
  const action = parseInside(cursor);
  if (!action.ok) return action;
  skipBlanks(cursor);
  if (cursor.source[cursor.at] !== "}") return unexpected(cursor, `"}"`);
  cursor.at += 1;
  return action;
}

/** The text up to the next brace. There is no escape for a brace; `{"{"}` writes one. */
function takeText(cursor: Cursor): string {
  const brace = cursor.source.indexOf("{", cursor.at);
  const end = brace === -1 ? cursor.source.length : brace;
  const text = cursor.source.slice(cursor.at, end);
  cursor.at = end;
  return text;
}

/** What stands between the braces. `end` and `range` are words only here: `.end` is a member. */
function parseInside(cursor: Cursor): Result<Action, JsonPathError> {
  const { source, at } = cursor;
  if (source[at] === '"' || source[at] === "'") {
    const text = parseQuoted(cursor);
    return text.ok ? ok({ kind: "text", text: text.value }) : text;
  }
  if (/^end\s*\}/.test(source.slice(at, at + 32))) {
    cursor.at += "end".length;
    return ok({ kind: "end" });
  }
  const ranges = /^range\s/.test(source.slice(at, at + 8));
  if (ranges) cursor.at += "range".length;
  skipBlanks(cursor);
  if (!".[@$".includes(source[cursor.at] ?? " ")) return unexpected(cursor, "a path, a quoted text, range or end");
  const path = parsePath(cursor);
  return path.ok ? ok({ kind: ranges ? "open" : "path", path: path.value }) : path;
}

/** `current` is the item of the innermost range, or the document; `root` is what `$` means everywhere. */
function renderParts(parts: readonly Part[], root: JsonValue, current: JsonValue, budget: StepBudget): string {
  return parts.map((part) => renderPart(part, root, current, budget)).join("");
}

function renderPart(part: Part, root: JsonValue, current: JsonValue, budget: StepBudget): string {
  if (part.kind === "text") return part.text;
  const selected = selectPath(part.path, root, current, budget);
  if (part.kind === "range") return selected.map((item) => renderParts(part.body, root, item, budget)).join("");
  const texts = selected.map(formatValue);
  // Printing a large value again and again counts as well: 50 characters are one step.
  for (const text of texts) spend(budget, text.length / 50);
  return texts.join(" ");
}

/** Texts as they are, everything else as JSON without blanks. */
const formatValue = (value: JsonValue): string => (typeof value === "string" ? value : JSON.stringify(value));
