import type { ASTNode, Environment } from "@marcbachmann/cel-js";
import type { LibraryFunction } from "./library/index.ts";

/** The name cannot be called by accident: a call needs a mark that no document has a reason to write. */
const functionName = "k8s_hasMember";
export const hasFunction: LibraryFunction = { signature: `dyn.${functionName}(string): bool`, call: hasMember };

/** Own members only: `has(self.toString)` is false unless the document has one. A member that is null exists. */
function hasMember(value: unknown, name: unknown): boolean {
  if (value instanceof Map) return value.has(name);
  if (typeof value !== "object" || value === null || typeof name !== "string") throw new Error("has() needs a map");
  return Object.hasOwn(value, name);
}

/**
 * CEL allows `has(e.name)` for every expression `e`; the library only for chains of names such as `has(a.b.c)`. Gives
 * other calls of `has` a replacement that asks a function: the library keeps such replacements for its own macros.
 */
export function replaceHas(node: ASTNode, cel: Environment): void {
  if (node.op !== "call" || node.args[0] !== "has") return;
  const [member] = node.args[1];
  if (member?.op !== "." || isChainOfNames(member)) return;
  const replacement = cel.parse(`x.${functionName}(${JSON.stringify(member.args[1])})`).ast;
  const parts: unknown[] = replacement.op === "rcall" ? replacement.args : [];
  parts[1] = member.args[0];
  withReplacements(node).setMeta("alternate", replacement);
}

function isChainOfNames(node: ASTNode): boolean {
  let at = node;
  while (at.op === "." || at.op === ".?") at = at.args[0];
  return at.op === "id";
}

interface Replaceable {
  setMeta(name: "alternate", replacement: ASTNode): unknown;
}
// The library's types leave this method out; without it compiling fails at once, in the first test.
const withReplacements = (node: ASTNode): Replaceable => node as unknown as Replaceable;
