/**
 * Replaces `$(NAME)` by the value of NAME; `$$(NAME)` stands for the text `$(NAME)`, and a reference to a name without value
 * stays as it is written. Replaced text is not looked at again.
 */
export function expandReferences(text: string, valueOf: (name: string) => string | undefined): string {
  if (!text.includes("$")) return text;
  return text.replace(/\$\$|\$\(([^)]*)\)/g, (found, name: string | undefined) =>
    name === undefined ? "$" : (valueOf(name) ?? found),
  );
}
