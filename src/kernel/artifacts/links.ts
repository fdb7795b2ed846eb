import { posix } from "node:path";

/** Whether a link stays in its tree: relative, `..` only at its beginning. Chains of such links stay inside, too. */
export function staysInside(path: string, target: string): boolean {
  if (target === "" || target.includes("\0") || posix.isAbsolute(target)) return false;
  const parts = target.split("/").filter((part) => part !== "" && part !== ".");
  const ups = parts.findIndex((part) => part !== "..");
  const up = ups < 0 ? parts.length : ups;
  if (parts.slice(up).includes("..")) return false;
  // The link's own name is no directory.
  return up <= path.split("/").length - 1;
}
