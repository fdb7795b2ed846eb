import { readdirSync, readFileSync } from "node:fs";

/** A flag of an open file on Linux: closed by exec. */
const closeOnExec = 0o2000000;

/**
 * Descriptors from 3 on that a started program would inherit. Node opens none, but a library (LMDB) or the starter of
 * this process may. Empty if the system does not tell.
 */
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
    // Closed meanwhile: the descriptor of this very listing.
    return false;
  }
}

/**
 * Closes for a child what it would inherit from descriptor 3 on: programs of others must not get the server's database.
 */
export function withoutInherited(nothing: number): readonly (number | "ignore")[] {
  const inherited = new Set(inheritedFiles());
  const length = Math.max(2, ...inherited) - 2;
  return Array.from({ length }, (_, at) => (inherited.has(at + 3) ? nothing : "ignore"));
}
