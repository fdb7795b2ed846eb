/**
 * Replaces `$(NAME)` by the value of NAME; `$$(NAME)` stands for the text `$(NAME)`, and a reference to a name without
 * value stays as it is written. Replaced text is not looked at again. These are Kubernetes' rules for `command`, `args`
 * and `env`:
 *
 *     $(A)   -> value of A      $$(A)  -> $(A)      $$$(A) -> $ and the value of A
 *     $(A    -> as it is        $A, $  -> as they are: that is the shell's business
 */
export function expandReferences(text: string, valueOf: (name: string) => string | undefined): string {
  if (!text.includes("$")) return text;
  return text.replace(/\$\$|\$\(([^)]*)\)/g, (found, name: string | undefined) =>
    name === undefined ? "$" : (valueOf(name) ?? found),
  );
}
