import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { resolvePlain } from "./scalar.ts";

// A tree of lines: every collection gives its lines without indentation, whoever holds it indents them. Only block
// style is written, except for empty collections.

export interface YamlWriteOptions {
  /** Keys in alphabetical order, as kubectl prints them (the default), or in the order of the value. */
  readonly keys?: "sorted" | "given";
}

/**
 * Writes one document as kubectl prints it: sorted keys, lists not indented below their key, texts of several lines as
 * block scalars. Texts that would read as something else are quoted, so that `readYaml` and Kubernetes give the same
 * value back. Ends with a line break.
 */
export function writeYaml(value: JsonValue, options: YamlWriteOptions = {}): string {
  const sorted = options.keys !== "given";
  if (isEmptyOrScalar(value)) return `${writeInline(value)}\n`;
  return `${writeLines(value, sorted).join("\n")}\n`;
}

/** Writes several documents, separated by `---`. No values give the empty text. */
export function writeYamlDocuments(values: readonly JsonValue[], options: YamlWriteOptions = {}): string {
  return values.map((value) => writeYaml(value, options)).join("---\n");
}

/** The lines of a collection that is not empty, without indentation. */
function writeLines(value: JsonValue, sorted: boolean): string[] {
  if (isArray(value)) return value.flatMap((item) => writeItem(item, sorted));
  if (!isJsonObject(value)) return [];
  return membersOf(value, sorted).flatMap(([key, member]) => writeMember(key, member, sorted));
}

/** `- item`; a collection's first line stands behind the dash, the others below it. */
function writeItem(item: JsonValue, sorted: boolean): string[] {
  if (isEmptyOrScalar(item)) return splitBlock(`- ${writeInline(item)}`);
  // The first line of the item stands behind its dash.
  return writeLines(item, sorted).map((line, index) => (index === 0 ? `- ${line}` : indent(line)));
}

/** `key: scalar`, or `key:` and the member's lines; lists are not indented, as kubectl prints them. */
function writeMember(key: string, member: JsonValue, sorted: boolean): string[] {
  const name = writeKey(key);
  if (isEmptyOrScalar(member)) return splitBlock(`${name} ${writeInline(member)}`);
  const lines = writeLines(member, sorted);
  return [...name.split("\n"), ...(isArray(member) ? lines : lines.map(indent))];
}

/** Empty lines of block scalars stay empty. */
const indent = (line: string): string => (line === "" ? "" : `  ${line}`);
const splitBlock = (text: string): string[] => text.split("\n");

function membersOf(value: JsonObject, sorted: boolean): readonly (readonly [string, JsonValue])[] {
  const members = Object.entries(value).flatMap(([key, member]) =>
    member === undefined ? [] : [[key, member] as const],
  );
  return sorted ? members.sort(([a], [b]) => (a < b ? -1 : 1)) : members;
}

function isEmptyOrScalar(value: JsonValue): boolean {
  if (isArray(value)) return value.length === 0;
  return !isJsonObject(value) || Object.values(value).every((member) => member === undefined);
}

function writeInline(value: JsonValue): string {
  if (typeof value === "string") return writeText(value);
  if (isArray(value)) return "[]";
  return isJsonObject(value) ? "{}" : JSON.stringify(value);
}

const longestSimpleKey = 128;

/** A key and its colon. Long keys must be announced, because YAML allows simple keys only 1,024 characters. */
function writeKey(key: string): string {
  const text = quoteText(key);
  return text.length <= longestSimpleKey ? `${text}:` : `? ${text}\n:`;
}

/** A block scalar if it can hold the text exactly, else one line. `|` keeps one final line break, `|+` all. */
function writeText(text: string): string {
  if (!isBlockText(text)) return quoteText(text);
  const body = text.endsWith("\n") ? text.slice(0, -1) : text;
  const chomping = text.endsWith("\n\n") ? "+" : text.endsWith("\n") ? "" : "-";
  const lines = body.split("\n").map((line) => (line === "" ? "" : `  ${line}`));
  return `|${chomping}\n${lines.join("\n")}`;
}

// Control characters, line separators other than "\n" and lone surrogates only survive inside double quotes.
const unprintable =
  /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** Lines a literal block scalar can hold: the first decides the indentation, so it cannot start blank. */
function isBlockText(text: string): boolean {
  return text.includes("\n") && !/^[\s]/.test(text) && !unprintable.test(text.replace(/[\n\t]/g, ""));
}

// Stricter than YAML: what begins with another character, or holds quotes or brackets, gets quotes although some need
// none.
const plainText = /^[A-Za-z0-9_./(+$^\\;<~=-][^\u0000-\u001f\u007f-\u009f"'{}[\]`]*$/;

function quoteText(text: string): string {
  if (unprintable.test(text)) return doubleQuoted(text);
  if (!isStringWhenPlain(text)) return doubleQuoted(text);
  return isPlain(text) ? text : `'${text.replaceAll("'", "''")}'`;
}

// Texts to Kubernetes, and quoted by it all the same: other readers of YAML 1.1 make times of the one, and numbers to
// the base 60 of the other (`1:30` is 90).
const timeElsewhere = /^\d{4}-\d{1,2}-\d{1,2}(?:$|[Tt \t])/;
const numberElsewhere = /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/;

/** Whether whoever reads YAML 1.1 reads the bare text as a text. */
function isStringWhenPlain(text: string): boolean {
  const resolved = resolvePlain(text);
  if (!resolved.ok || typeof resolved.value !== "string" || text === "<<" || text === "=") return false;
  return !timeElsewhere.test(text) && !numberElsewhere.test(text);
}

/** Whether the bare text is one plain scalar: no marker at its start, no comment, mapping or final blank. */
function isPlain(text: string): boolean {
  if (!plainText.test(text) || /^(?:[-?:](?:\s|$)|---|\.\.\.)/.test(text)) return false;
  return !text.includes(": ") && !text.includes(" #") && !/[:\s]$/.test(text) && !/\t/.test(text);
}

/** JSON's escapes are YAML's, but JSON leaves some characters bare that YAML would change. */
const doubleQuoted = (text: string): string =>
  JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const isArray = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);
