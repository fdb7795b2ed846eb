import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "./errors.ts";

/**
 * Makes a directory and those above it that are missing, each with `mode` narrowed by the umask; one that is there is left as it is.
 * Rejects with what the system says of the first one that cannot be made. Safe to run side by side for the same path.
 *
 * Instead of Node's own recursive `mkdir`, which calls a full disk ENOENT and never returns for a path that the kernel refuses to
 * make, as under /proc.
 */
export async function makeDirectories(path: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST" && (await isDirectory(path))) return;
    if (codeOf(thrown) !== "ENOENT" || dirname(path) === path) throw thrown;
    await makeDirectories(dirname(path), mode);
    await mkdir(path, { mode }).catch(async (again: unknown) => {
      if (codeOf(again) !== "EEXIST" || !(await isDirectory(path))) throw again;
    });
  }
}

const isDirectory = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
