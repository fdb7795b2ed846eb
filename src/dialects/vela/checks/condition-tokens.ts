// A quick look at CUE expressions, for checks that cannot wait for the evaluator. What it does not know it accepts.

export interface Token {
  readonly kind: "name" | "number" | "text" | "operator" | "open" | "close" | "dot" | "other";
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** `at` is the offset of what is wrong. */
export interface Fault {
  readonly message: string;
  readonly at: number;
  readonly hint?: string;
}

const patterns: readonly (readonly [Token["kind"], RegExp])[] = [
  ["text", /(#*)("""|'''|"|')/y],
  ["number", /\d[\w.]*/y],
  ["name", /[#_$\p{L}][\w$#\p{L}]*/uy],
  ["other", /_\|_|\.\.\.|[,:?]|=(?![=~])/y],
  ["operator", /&&|\|\||==|!=|<=|>=|=~|!~|[<>+\-*/!&|]/y],
  ["open", /[([{]/y],
  ["close", /[)\]}]/y],
  ["dot", /\./y],
];

/** The tokens of an expression, or the first character that cannot be one. */
export function tokensOf(text: string): { readonly tokens: readonly Token[]; readonly fault?: Fault } {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    at = skipBlank(text, at);
    if (at >= text.length) return { tokens };
    const token = tokenAt(text, at);
    if (token === undefined) return { tokens, fault: { message: `unexpected ${JSON.stringify(text[at])}`, at } };
    if (token.end < 0) return { tokens, fault: { message: "the string has no closing quote", at } };
    tokens.push(token);
    at = token.end;
  }
}

/** Blanks and comments. */
function skipBlank(text: string, from: number): number {
  const blank = /(?:\s+|\/\/[^\n]*)*/y;
  blank.lastIndex = from;
  return from + (blank.exec(text)?.[0].length ?? 0);
}

function tokenAt(text: string, start: number): Token | undefined {
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = start;
    const match = pattern.exec(text);
    if (match === null) continue;
    const [found, hashes = "", quote = ""] = match;
    const end = kind === "text" ? endOfText(text, start + found.length, quote, hashes) : start + found.length;
    return { kind, text: text.slice(start, Math.max(end, start)), start, end };
  }
  return undefined;
}

/** -1 if the text never ends. Interpolations may contain texts. */
function endOfText(text: string, from: number, quote: string, hashes: string): number {
  let at = from;
  while (at < text.length) {
    if (text.startsWith(quote + hashes, at)) return at + quote.length + hashes.length;
    if (text.startsWith(`\\${hashes}(`, at)) at = endOfInterpolation(text, at + hashes.length + 2);
    else if (text.startsWith(`\\${hashes}`, at)) at += hashes.length + 2;
    else at += 1;
    if (at < 0) return -1;
  }
  return -1;
}

function endOfInterpolation(text: string, from: number): number {
  let depth = 1;
  let at = from;
  while (at < text.length) {
    const token = tokenAt(text, at);
    if (token !== undefined && token.end < 0) return -1;
    if (token?.text === "(") depth += 1;
    if (token?.text === ")" && (depth -= 1) === 0) return token.end;
    at = token?.end ?? at + 1;
  }
  return -1;
}
