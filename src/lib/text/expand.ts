/**
 * Expands `$(NAME)` as Kubernetes does in `command`, `args` and `env`: an unknown name stays as it is, `$$` is one `$`
 * (so `$$(NAME)` is the text `$(NAME)`), any other `$` is ordinary. The result is not expanded again. Linear in the
 * text.
 */
export function expandVariables(text: string, valueOf: (name: string) => string | undefined): string {
  let expanded = "";
  let copied = 0;
  // Behind the last ")" no reference is closed, and looking for its end again and again would cost the square of the
  // text.
  const lastClose = text.lastIndexOf(")");
  for (let at = text.indexOf("$"); at !== -1; at = text.indexOf("$", copied)) {
    const [replacement, length] = expandAt(text, at, lastClose, valueOf);
    expanded += text.slice(copied, at) + replacement;
    copied = at + length;
  }
  return expanded + text.slice(copied);
}

/** What replaces the `$` at an index, and how many characters: `["value", 7]` for `$(NAME)`. */
function expandAt(
  text: string,
  at: number,
  lastClose: number,
  valueOf: (name: string) => string | undefined,
): readonly [string, number] {
  const next = text[at + 1];
  if (next === "$") return ["$", 2];
  if (next !== "(") return ["$", 1];
  // An unclosed reference is ordinary text.
  if (at > lastClose) return ["$(", 2];
  const close = text.indexOf(")", at);
  const reference = text.slice(at, close + 1);
  return [valueOf(reference.slice(2, -1)) ?? reference, reference.length];
}
