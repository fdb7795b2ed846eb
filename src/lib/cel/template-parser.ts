import { err, ok, type Result } from "#lib/base/index.ts";

/** A string cut into what stays and what is computed. */
export type TemplatePart =
  | { readonly kind: "text"; readonly text: string }
  /** `source` is everything between the braces; `offset` is where it starts in the string. */
  | { readonly kind: "expression"; readonly source: string; readonly offset: number };

/** A `${{` that is never closed. */
export interface TemplateFault {
  readonly message: string;
  /** Where it opens, in UTF-16 code units of the string. */
  readonly offset: number;
}

const opening = "${{";

/**
 * Cuts a string at `${{ … }}`. `$${{` is the text `${{`; everything else, such as `$(NAME)`, `${NAME}` or `{{ }}`, is
 * text. Braces and quotes inside the texts, map literals and comments of an expression do not end it. Linear in the
 * string.
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

// Texts, comments, and the braces between them, as the CEL library's lexer sees them (a backslash skips a character in
// raw texts too). A text that is not closed matches nothing, and the expression's own parser explains what is wrong.
const token =
  /"""(?:[^\\]|\\[^])*?"""|'''(?:[^\\]|\\[^])*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\/\/[^\n]*|[{}]/g;

/** Offset of the braces that close an expression, or undefined. */
function endOfExpression(text: string, start: number): number | undefined {
  let depth = 0;
  token.lastIndex = start;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[0] === "{") depth += 1;
    else if (match[0] === "}" && depth > 0) depth -= 1;
    else if (match[0] === "}" && text[match.index + 1] === "}") return match.index;
  }
  return undefined;
}
