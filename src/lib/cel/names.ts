import { type LibraryFunction, libraryFunctions } from "./library/index.ts";

// The CEL library refuses a second function of the same signature. Ours are registered under a marked name instead, and
// calls in the syntax tree are sent there.

// An underscore and a prefix that no document has a reason to write; messages and references never show it.
const mark = "k8s_";
const nameOf = (signature: string): string => /(\w+)\(/.exec(signature)?.[1] ?? "";
const replaced = new Set(libraryFunctions.filter((added) => added.replaces).map((added) => nameOf(added.signature)));

/** The signature under which a function is registered: marked if it replaces one of the CEL library. */
export function registeredSignature({ signature }: LibraryFunction): string {
  const name = nameOf(signature);
  return replaced.has(name) ? signature.replace(`${name}(`, `${mark}${name}(`) : signature;
}

/** The name under which a call of `name` must be looked up. */
export const resolveName = (name: string): string => (replaced.has(name) ? mark + name : name);

/** Takes the marks of replaced functions out of a message or a name. */
export const withoutMarks = (text: string): string => text.replaceAll(mark, "");
