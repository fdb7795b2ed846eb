import { readdirSync, readFileSync } from "node:fs";

/** The flag of an open file that is closed on exec. */
const closeOnExec = 0o2000000;

/** Descriptors from 3 on that children would inherit, as of LMDB. Empty where the system does not list them. */
export function inheritedFiles(): readonly number[] {
  try {
    return readdirSync("/proc/self/fdinfo")
      .map(Number)
      .filter((descriptor) => descriptor > 2 && isInherited(descriptor));
  } catch {
    // Not Linux.
    return [];
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1] ?? "";
    return (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    // Closed meanwhile: the descriptor that read the directory.
    return false;
  }
}

/** The stdio of a child from descriptor 3 on: nothing, or other users' programs would find the database open. */
export function withoutInherited(nothing: number): readonly (number | "ignore")[] {
  const inherited = new Set(inheritedFiles());
  const length = Math.max(2, ...inherited) - 2;
  return Array.from({ length }, (_, at) => (inherited.has(at + 3) ? nothing : "ignore"));
}
