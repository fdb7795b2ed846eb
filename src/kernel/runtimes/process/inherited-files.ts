import { readdirSync, readFileSync } from "node:fs";

/** In the flags of an open file, as Linux shows them: it is closed when another program takes the place of this one. */
const closeOnExec = 0o2000000;

/**
 * Descriptors, from 3 on, that a program which this process starts would have too. Node opens nothing so, but a library may (LMDB does with
 * its database), and so may whoever started this process. Empty where the system does not tell.
 */
export function inheritedFiles(): readonly number[] {
  try {
    return readdirSync("/proc/self/fdinfo")
      .map(Number)
      .filter((descriptor) => descriptor > 2 && isInherited(descriptor));
  } catch {
    // No such place: this is not Linux.
    return [];
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1] ?? "";
    return (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    // Closed meanwhile: it was the one for the reading of the directory.
    return false;
  }
}

/**
 * What a child has from descriptor 3 on, when this process has files open that it would inherit: `nothing` in their places. What runs as
 * another user, or for somebody else, must not find the database of the server among its open files.
 */
export function withoutInherited(nothing: number): readonly (number | "ignore")[] {
  const inherited = new Set(inheritedFiles());
  const length = Math.max(2, ...inherited) - 2;
  return Array.from({ length }, (_, at) => (inherited.has(at + 3) ? nothing : "ignore"));
}
