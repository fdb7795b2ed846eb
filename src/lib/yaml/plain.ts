import type { JsonValue } from "#lib/base/index.ts";
import { keyText, resolvePlain } from "./scalar.ts";

// Nearly all documents are made of a small part of YAML: block mappings and lists, texts, quoted texts, `{}` and `[]` that end on the line they
// begin on, literal texts (`|`), comments. This part is read here line by line, without tokens and trees, in a tenth of the time. Whatever
// is not surely of it, and everything that is wrong, is left to the library: a property holds both against each other.

/** What is read here of a text, and how far down. */
export interface PlainLimits {
  readonly maxDepth: number;
  readonly maxParts: number;
}

/**
 * The values of all documents of a text; undefined when it has anything that only the library reads, is wrong, or may be beyond a limit.
 * Never throws. O(length of the text).
 */
export function readPlain(text: string, limits: PlainLimits): readonly JsonValue[] | undefined {
  if (foreign.test(text)) return undefined;
  const state: State = { lines: text.split("\n"), at: 0, end: 0, depth: limits.maxDepth, parts: limits.maxParts };
  // Of each line its break and perhaps a comment.
  state.parts -= 2 * state.lines.length;
  try {
    return documentsOf(state);
  } catch (thrown) {
    if (thrown === beyond) return undefined;
    throw thrown;
  }
}

/** Tabs, carriage returns, other control characters, odd line ends and byte order marks have rules of their own. */
const foreign = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff]/;

interface State {
  readonly lines: readonly string[];
  /** The line that is read. */
  at: number;
  /** Where the document ends: the line after its last one. */
  end: number;
  /** What is left of the limits. */
  depth: number;
  parts: number;
}

/** Thrown to leave the text to the library, from however deep; never leaves this file. */
const beyond = new Error("not of the part of YAML that is read here");

function leave(): never {
  throw beyond;
}

/** Documents are parted by lines that are `---` and nothing else. Before the first mark there may be comments alone. */
function documentsOf(state: State): readonly JsonValue[] {
  const { lines } = state;
  const marks = [-1];
  for (const [at, line] of lines.entries()) {
    if (line === "---") marks.push(at);
    else if (line.startsWith("---") || line.startsWith("...") || line.startsWith("%")) leave();
  }
  const documents: JsonValue[] = [];
  for (const [index, mark] of marks.entries()) {
    state.at = mark + 1;
    state.end = marks[index + 1] ?? lines.length;
    const column = nextColumn(state);
    if (column >= 0) documents.push(readBlock(state, column));
    // An empty document is one all the same where there is a mark.
    else if (mark >= 0 || marks.length === 1) leave();
    if (nextColumn(state) >= 0) leave();
  }
  return documents;
}

/** Goes on to the next line that holds something, and tells the column at which it begins; -1 at the end of the document. */
function nextColumn(state: State): number {
  for (; state.at < state.end; state.at++) {
    const line = lineOf(state);
    const column = indentOf(line);
    if (column < line.length && line[column] !== "#") return column;
  }
  return -1;
}

const lineOf = ({ lines, at }: State): string => lines[at] ?? "";

function indentOf(line: string): number {
  let column = 0;
  while (line[column] === " ") column++;
  return column;
}

/** A dash that begins an item, and no number or option. */
const isDash = (line: string, column: number): boolean =>
  line[column] === "-" && (column + 1 === line.length || line[column + 1] === " ");

/** The mapping or list that begins in this line at this column; its other lines begin at the same column. */
function readBlock(state: State, column: number): JsonValue {
  if (--state.depth <= 0) leave();
  const value = isDash(lineOf(state), column) ? readList(state, column) : readMapping(state, column);
  state.depth++;
  return value;
}

function readList(state: State, column: number): JsonValue {
  const items: JsonValue[] = [];
  do {
    const line = lineOf(state);
    let start = column + 1;
    while (line[start] === " ") start++;
    const isNested = start < line.length && (isDash(line, start) || keyAt(line, start) !== undefined);
    items.push(isNested ? readBlock(state, start) : readValue(state, start, column, false));
  } while (continues(state, column) && isDash(lineOf(state), column));
  return items;
}

function readMapping(state: State, column: number): JsonValue {
  const members: Record<string, JsonValue> = {};
  do {
    const key = keyAt(lineOf(state), column) ?? leave();
    put(state, members, key.name, () => readValue(state, key.end, column, true));
  } while (continues(state, column));
  return members;
}

function put(state: State, members: Record<string, JsonValue>, name: string, read: () => JsonValue): void {
  // A repeated key is a mistake that the library places.
  if (name === "__proto__" || Object.hasOwn(members, name)) leave();
  count(state);
  members[name] = read();
}

/** Whether the next line that holds something begins at this column; one that begins farther right is of no block. */
function continues(state: State, column: number): boolean {
  const next = nextColumn(state);
  if (next > column) leave();
  return next === column;
}

function count(state: State): void {
  if (--state.parts < 0) leave();
}

interface Key {
  readonly name: string;
  /** Behind the colon. */
  readonly end: number;
}

const plainKey = /([A-Za-z0-9_./][A-Za-z0-9_./-]*):(?= |$)/y;
const quotedKey = /(?:"([^"\\]*)"|'([^']*)'):(?= |$)/y;
/** YAML's bound is 1,024 characters, quotes included. */
const longestKey = 256;

/** The key that begins at a column, if one does that is as simple as most are. */
function keyAt(line: string, column: number): Key | undefined {
  plainKey.lastIndex = column;
  const plain = plainKey.exec(line)?.[1];
  if (plain !== undefined)
    return plain.length > longestKey ? leave() : { name: nameOf(plain), end: plainKey.lastIndex };
  quotedKey.lastIndex = column;
  const quoted = quotedKey.exec(line);
  const name = quoted?.[1] ?? quoted?.[2];
  if (name === undefined) return undefined;
  return name.length > longestKey ? leave() : { name, end: quotedKey.lastIndex };
}

/** `yes` is a key called `true`. */
function nameOf(text: string): string {
  const key = resolvePlain(text);
  return key.ok && key.value !== null ? keyText(key.value) : leave();
}

/**
 * The value behind a key or a dash, in this line or in the lines below; the state is then behind it. `column` is that of the key or the
 * dash. The list that is the value of a key may begin at the same column as the key.
 */
function readValue(state: State, start: number, column: number, isMember: boolean): JsonValue {
  const line = lineOf(state);
  let from = start;
  while (line[from] === " ") from++;
  const begin = line[from];
  if (begin === undefined || (begin === "#" && from > start)) return readBelow(state, column, isMember);
  if (begin === "|") return readLiteral(state, line.slice(from), column);
  count(state);
  const value =
    begin === '"' || begin === "'" || begin === "[" || begin === "{"
      ? readFlow(state, line, from)
      : readText(line, from);
  state.at++;
  // Texts may go on in lines that are indented more.
  if (nextColumn(state) > column) leave();
  return value;
}

function readBelow(state: State, column: number, isMember: boolean): JsonValue {
  state.at++;
  const next = nextColumn(state);
  if (next > column) return readBlock(state, next);
  return isMember && next === column && isDash(lineOf(state), next) ? readBlock(state, next) : null;
}

const endOfLine = /^ *(?: #.*)?$/;
const textStart = /[^-?:,[\]{}#&*!|>'"%@` ]|-(?=[-A-Za-z0-9./])/y;

/** The text without quotes that begins here and ends with the line, or with a comment. */
function readText(line: string, from: number): JsonValue {
  textStart.lastIndex = from;
  if (!textStart.test(line)) leave();
  const comment = line.indexOf(" #", from);
  const text = withoutTrailing(line.slice(from, comment < 0 ? line.length : comment));
  if (text.includes(": ") || text.endsWith(":")) leave();
  return resolved(text);
}

/** Without the blanks at its end. A pattern would look at every run of blanks again for each of them. */
function withoutTrailing(text: string): string {
  let end = text.length;
  while (text[end - 1] === " ") end--;
  return text.slice(0, end);
}

function resolved(text: string): JsonValue {
  const value = resolvePlain(text);
  return value.ok ? value.value : leave();
}

/** What is in quotes or brackets, to the end of the line or a comment. */
function readFlow(state: State, line: string, from: number): JsonValue {
  const flow: Flow = { state, line, at: from };
  const value = flowValue(flow);
  if (!endOfLine.test(line.slice(flow.at))) leave();
  return value;
}

interface Flow {
  readonly state: State;
  readonly line: string;
  at: number;
}

const flowText = /(?:[A-Za-z0-9_./$]|-(?=[-A-Za-z0-9.]))(?:[^,[\]{}#:"'\\&*!|>%@`]|:(?=[A-Za-z0-9/._-]))*/y;
const flowKey = /([A-Za-z0-9_./][A-Za-z0-9_./-]*): |"([^"\\]*)": ?|'([^']*)': ?/y;
const doubleQuoted = /"([^"\\]*(?:\\["\\/nt][^"\\]*)*)"/y;
const singleQuoted = /'([^']*(?:''[^']*)*)'/y;
const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t" };

function flowValue(flow: Flow): JsonValue {
  skipBlanks(flow);
  count(flow.state);
  const begin = flow.line[flow.at];
  if (begin === "[") return within(flow, flowList);
  if (begin === "{") return within(flow, flowMapping);
  if (begin === '"')
    return matched(flow, doubleQuoted).replace(/\\(.)/g, (_, letter: string) => escapes[letter] ?? letter);
  if (begin === "'") return matched(flow, singleQuoted).replaceAll("''", "'");
  return resolved(withoutTrailing(matched(flow, flowText)));
}

function skipBlanks(flow: Flow): void {
  while (flow.line[flow.at] === " ") flow.at++;
}

/** What the pattern finds here: its first group that is there, or all of it. */
function matched(flow: Flow, pattern: RegExp): string {
  pattern.lastIndex = flow.at;
  const found = pattern.exec(flow.line);
  if (found === null) return leave();
  flow.at = pattern.lastIndex;
  return found.slice(1).find((part) => part !== undefined) ?? found[0];
}

function within(flow: Flow, read: (flow: Flow) => JsonValue): JsonValue {
  if (--flow.state.depth <= 0) leave();
  flow.at++;
  const value = read(flow);
  flow.state.depth++;
  return value;
}

function isEmpty(flow: Flow, closing: "]" | "}"): boolean {
  skipBlanks(flow);
  if (flow.line[flow.at] !== closing) return false;
  flow.at++;
  return true;
}

/** Whether another one comes; a comma and nothing behind it is left to the library. */
function hasMore(flow: Flow, closing: "]" | "}"): boolean {
  skipBlanks(flow);
  const next = flow.line[flow.at++];
  if (next !== "," && next !== closing) leave();
  count(flow.state);
  return next === ",";
}

function flowList(flow: Flow): JsonValue {
  const items: JsonValue[] = [];
  if (isEmpty(flow, "]")) return items;
  do items.push(flowValue(flow));
  while (hasMore(flow, "]"));
  return items;
}

function flowMapping(flow: Flow): JsonValue {
  const members: Record<string, JsonValue> = {};
  if (isEmpty(flow, "}")) return members;
  do {
    skipBlanks(flow);
    const isPlain = flow.line[flow.at] !== '"' && flow.line[flow.at] !== "'";
    const key = matched(flow, flowKey);
    if (key.length > longestKey) leave();
    put(flow.state, members, isPlain ? nameOf(key) : key, () => flowValue(flow));
  } while (hasMore(flow, "}"));
  return members;
}

/** A text kept as it is written, in the lines below that are indented more. `|` ends it with one line break, `|-` with none. */
function readLiteral(state: State, header: string, column: number): JsonValue {
  if (header !== "|" && header !== "|-") leave();
  count(state);
  state.at++;
  const content: string[] = [];
  let indent = -1;
  for (; state.at < state.end; state.at++) {
    const line = lineOf(state);
    const own = indentOf(line);
    if (own === line.length) {
      // Blanks beyond the indentation are part of the text.
      if (own > Math.max(indent, column)) leave();
      content.push("");
      continue;
    }
    if (indent < 0) indent = own;
    if (own < indent || own <= column) break;
    content.push(line.slice(indent));
  }
  // The next line has to be of a block outside, and the text has to end with a line break.
  if (indent <= column || nextColumn(state) > column || (state.at === state.lines.length && state.lines.at(-1) !== ""))
    leave();
  while (content.at(-1) === "") content.pop();
  return `${content.join("\n")}${header === "|" ? "\n" : ""}`;
}
