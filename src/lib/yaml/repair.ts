import { CST } from "yaml";

/** Blanks inserted at the start of lines: line number (from 1) to their count. */
export type Insertions = ReadonlyMap<number, number>;

export interface RepairedText {
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
