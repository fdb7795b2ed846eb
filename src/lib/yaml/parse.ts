import { Composer, CST, type Document, Lexer, LineCounter, Parser } from "yaml";
import { err, ok, type Result } from "#lib/base/index.ts";
import { type Insertions, repairQuotedScalars } from "./repair.ts";

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

/** A text that must not be composed: its trees would overflow the call stack of whoever walks them. The place is where it went too far. */
export interface TooDeep extends Place {
  readonly message: string;
}

/**
 * Parses a text into syntax trees whose scalars are all texts: what they mean is decided by `scalar.ts`. Syntax errors are
 * in the trees. Nesting is checked before the trees are built, because building them recurses.
 */
export function parseTrees(source: string, maxDepth: number): Result<ParsedYaml, TooDeep> {
  const read = rememberingLast((text) => readTokens(text, maxDepth));
  const repaired = repairQuotedScalars(source, (text) => read(text).tokens);
  const { tokens, lines, tooDeepAt } = read(repaired.text);
  const placeOf = (offset: number): Place => placeIn(lines, repaired.insertions, offset);
  if (tooDeepAt !== undefined) {
    return err({ message: `nested deeper than ${maxDepth} levels`, ...placeOf(tooDeepAt) });
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
  /** Offset of the first token beyond the limit, where reading stopped. */
  readonly tooDeepAt: number | undefined;
}

/** Lexes and parses to the end, or to the first token that nests too deep: `[` a million times costs 200 of them. */
function readTokens(text: string, maxDepth: number): Tokens {
  const lines = new LineCounter();
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (isTooDeep(parser.stack, maxDepth)) return { tokens, lines, tooDeepAt: parser.offset - lexeme.length };
  }
  for (const token of parser.end()) tokens.push(token);
  return { tokens, lines, tooDeepAt: undefined };
}

/** The stack holds the document, its open collections and perhaps a scalar; counting is only worth it near the limit. */
const isTooDeep = (stack: readonly CST.Token[], maxDepth: number): boolean =>
  stack.length > maxDepth + 1 && stack.filter((token) => CST.isCollection(token)).length > maxDepth;

/** The column without the blanks that the repair inserted at the start of the line. */
function placeIn(lines: LineCounter, insertions: Insertions, offset: number): Place {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col - (insertions.get(line) ?? 0)) };
}
