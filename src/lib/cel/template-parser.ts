import { err, ok, type Result } from "#lib/base/index.ts";

/** A string cut into what stays and what is computed. */
export type TemplatePart =
  | { readonly kind: "text"; readonly text: string }
  /** `source` is everything between the braces; `offset` is where it starts in the string. */
  | { readonly kind: "expression"; readonly source: string; readonly offset: number };

export interface TemplateFault {
  readonly message: string;
  readonly offset: number;
}

const opening = "${{";

/**
 * Cuts a string at `${{ … }}`. `$${{` is the text `${{`; everything else, such as `$(NAME)`, `${NAME}` or `{{ }}`, is
 * text. Braces and quotes inside the texts, map literals and comments of an expression do not end it. Linear in the string.
 */
export function parseTemplate(text: string): Result<readonly TemplatePart[], TemplateFault> {
  const parts: TemplatePart[] = [];
  let pending = "";
  let at = 0;
  for (let found = text.indexOf(opening); found !== -1; found = text.indexOf(opening, at)) {
    if (found > at && text[found - 1] === "$") {
      pending += text.slice(at, found - 1) + opening;
      at = found + opening.length;
      continue;
    }
    const start = found + opening.length;
    const end = endOfExpression(text, start);
    if (end === undefined) return err({ message: `"\${{" is not closed by "}}"`, offset: found });
    pending += text.slice(at, found);
    if (pending !== "") parts.push({ kind: "text", text: pending });
    pending = "";
    parts.push({ kind: "expression", source: text.slice(start, end), offset: start });
    at = end + 2;
  }
  pending += text.slice(at);
  if (pending !== "" || parts.length === 0) parts.push({ kind: "text", text: pending });
  return ok(parts);
}

// Texts with their prefixes, comments, and single characters that matter. Texts that are not closed match only their
// quote, and the expression's own parser explains what is wrong.
const token = /([rR])?(?:"""[^]*?"""|'''[^]*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\/\/[^\n]*|[{}]/g;
const rawText = /^[rR](?:"""[^]*?"""|'''[^]*?'''|"[^"\n]*"|'[^'\n]*')/;

/** Offset of the braces that close an expression, or undefined. */
function endOfExpression(text: string, start: number): number | undefined {
  let depth = 0;
  token.lastIndex = start;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [found, raw] = match;
    if (found === "{") depth += 1;
    else if (found === "}" && depth > 0) depth -= 1;
    else if (found === "}" && text[match.index + 1] === "}") return match.index;
    // A backslash escapes nothing in a raw text.
    else if (raw !== undefined) token.lastIndex = match.index + rawLength(text, match.index, found.length);
  }
  return undefined;
}

const rawLength = (text: string, at: number, otherwise: number): number =>
  rawText.exec(text.slice(at))?.[0].length ?? otherwise;
