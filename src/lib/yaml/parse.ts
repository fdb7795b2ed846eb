import { Composer, CST, type Document, Lexer, LineCounter, Parser } from "yaml";
import { err, ok, type Result } from "#lib/base/index.ts";

/** Syntax trees of a text, with what is needed to speak about places in it. */
export interface ParsedYaml {
  readonly documents: readonly Document.Parsed[];
  /** The place of an offset of the trees in the text as the user wrote it. Both count from 1. */
  readonly placeOf: (offset: number) => Place;
}

export interface Place {
  readonly line: number;
  readonly column: number;
}

/** What a text may consist of. */
export interface TreeLimits {
  readonly maxDepth: number;
  /** Scalars, aliases, collections in brackets, comments and lines together: each becomes an object of its own. */
  readonly maxParts: number;
}

/** A text that must not be composed: its trees would overflow the stack or fill the memory. Where it went too far. */
export interface Excess extends Place {
  /** It nests too deep; else it has too many parts. */
  readonly isDeep: boolean;
  readonly message: string;
}

/**
 * Parses a text into syntax trees whose scalars are all texts: what they mean is decided by `scalar.ts`. Syntax errors
 * are in the trees. Limits are checked before the trees are built, because building them recurses.
 */
export function parseTrees(source: string, limits: TreeLimits): Result<ParsedYaml, Excess> {
  const read = rememberingLast((text) => readTokens(text, limits));
  const repaired = repairQuotedScalars(source, (text) => read(text).tokens);
  const { tokens, lines, excess } = read(repaired.text);
  const placeOf = (offset: number): Place => placeIn(lines, repaired.insertions, offset);
  if (excess !== undefined) {
    const { isDeep, offset } = excess;
    const message = isDeep ? `nested deeper than ${limits.maxDepth} levels` : `more than ${limits.maxParts} parts`;
    return err({ isDeep, message, ...placeOf(offset) });
  }
  const composer = new Composer({ schema: "failsafe", uniqueKeys: false, resolveKnownTags: false });
  return ok({ documents: [...composer.compose(tokens, true, repaired.text.length)].filter(hasContents), placeOf });
}

/** The function, which does not read the text that it has read last again. */
function rememberingLast(read: (text: string) => Tokens): (text: string) => Tokens {
  let last: { readonly text: string; readonly tokens: Tokens } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, tokens: read(text) };
    return last.tokens;
  };
}

/** A text without any document composes to one empty tree; `---` alone is a document, a comment is none. */
function hasContents(document: Document.Parsed, index: number, all: readonly Document.Parsed[]): boolean {
  if (document.contents !== null || document.errors.length > 0) return true;
  return all.length > 1 || index > 0 || document.directives.docStart === true;
}

interface Tokens {
  readonly tokens: readonly CST.Token[];
  /** Where the lines of the text start, noted while lexing. */
  readonly lines: LineCounter;
  /** The first token beyond a limit, where reading stopped. */
  readonly excess: { readonly isDeep: boolean; readonly offset: number } | undefined;
}

/** What a part begins with: the lexer's mark before a scalar, a line break, and the marks that stand for themselves. */
const partMarks: ReadonlySet<string> = new Set("\u001f\n\r[{,*&!#");

/** Lexes and parses to the end, or to the first token beyond a limit: `[` a million times costs 200 of them. */
function readTokens(text: string, { maxDepth, maxParts }: TreeLimits): Tokens {
  const lines = new LineCounter();
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  let parts = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (partMarks.has(lexeme.charAt(0))) parts += 1;
    const isDeep = isTooDeep(parser.stack, maxDepth);
    if (isDeep || parts > maxParts) {
      return { tokens, lines, excess: { isDeep, offset: parser.offset - lexeme.length } };
    }
  }
  for (const token of parser.end()) tokens.push(token);
  return { tokens, lines, excess: undefined };
}

/** The stack holds the document, its open collections and perhaps a scalar; counted only near the limit. */
const isTooDeep = (stack: readonly CST.Token[], maxDepth: number): boolean =>
  stack.length > maxDepth + 1 && stack.filter((token) => CST.isCollection(token)).length > maxDepth;

/** The column without the blanks that the repair inserted at the start of the line. */
function placeIn(lines: LineCounter, insertions: Insertions, offset: number): Place {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col - (insertions.get(line) ?? 0)) };
}

/** Blanks inserted at the start of lines: line number (from 1) to their count. */
type Insertions = ReadonlyMap<number, number>;

interface RepairedText {
  readonly text: string;
  readonly insertions: Insertions;
}

/**
 * Repairing parses the text again each time; this bounds the sum of all texts parsed, in characters (about half a
 * second). A text beyond it is left as it is, and its syntax errors are reported.
 */
const mostCharacters = 500_000;

/**
 * Kubernetes' YAML library lets the continuation lines of a quoted scalar be indented less than the collection they are
 * in; the parser used here does not. Indents such lines, which changes nothing, because blanks at the start of a
 * continuation line are folded away. `parse` returns the tokens of a text.
 */
export function repairQuotedScalars(source: string, parse: (text: string) => readonly CST.Token[]): RepairedText {
  const insertions = new Map<number, number>();
  let text = source;
  let spent = 0;
  // Only a quote that is still open at the end of a line can be a broken scalar. One look from the first quote on: a
  // pattern would begin again at every quote, which takes minutes for a large document on one line.
  const quote = source.search(/["']/);
  if (quote === -1 || !source.includes("\n", quote)) return { text, insertions };
  for (;;) {
    spent += text.length;
    const broken = spent > mostCharacters ? undefined : findBroken(parse(text));
    const repaired = broken === undefined ? undefined : indentContinuation(text, broken, insertions);
    if (repaired === undefined) return { text, insertions };
    text = repaired;
  }
}

/** Offset of the first quoted scalar that the lexer cut off in front of its closing quote. */
function findBroken(tokens: readonly CST.Token[]): number | undefined {
  let first: number | undefined;
  const note = (token: CST.Token | null | undefined): void => {
    if (token?.type !== "single-quoted-scalar" && token?.type !== "double-quoted-scalar") return;
    const isBroken = closingQuote(token.source, 0) !== token.source.length - 1;
    if (isBroken && (first === undefined || token.offset < first)) first = token.offset;
  };
  for (const token of tokens) {
    if (token.type !== "document") continue;
    note(token.value);
    CST.visit(token, (item) => {
      note(item.key);
      note(item.value);
    });
  }
  return first;
}

/** Index of the quote that closes the one at `start`, or -1. */
function closingQuote(text: string, start: number): number {
  const quote = text[start];
  for (let at = start + 1; at < text.length; at += 1) {
    if (quote === '"' && text[at] === "\\") at += 1;
    else if (text[at] === quote && quote === "'" && text[at + 1] === quote) at += 1;
    else if (text[at] === quote) return at;
  }
  return -1;
}

/** The text with the scalar's lines indented behind its opening quote; undefined if it cannot be repaired. */
function indentContinuation(text: string, start: number, insertions: Map<number, number>): string | undefined {
  const end = closingQuote(text, start);
  const lines = text.slice(start, end).split("\n");
  // A document marker ends the document even inside quotes.
  if (end === -1 || lines.length < 2 || lines.some((line) => /^(?:---|\.\.\.)(?:\s|$)/.test(line))) return undefined;
  const width = start - text.lastIndexOf("\n", start);
  const firstLine = text.slice(0, start).split("\n").length;
  const [opening = "", ...continuation] = lines;
  const indented = continuation.map((line, index) => {
    const number = firstLine + 1 + index;
    insertions.set(number, (insertions.get(number) ?? 0) + width);
    return " ".repeat(width) + line;
  });
  return text.slice(0, start) + [opening, ...indented].join("\n") + text.slice(end);
}
