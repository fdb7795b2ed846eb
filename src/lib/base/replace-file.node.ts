import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { hasCode, recover } from "./errors.ts";

export interface ReplaceOptions {
  /** Default 0600, narrowed by the umask. */
  readonly mode?: number;
  /** The file written first, in the same directory; default `<path>.next`. Two writers at one time need two of them. */
  readonly draft?: string;
  /** False: a crash of this process leaves the old or the new file, but a power cut may leave neither. Default true. */
  readonly isDurable?: boolean;
}

/**
 * Replaces a file as a whole: readers, and the next start after a crash, see the old content or the new content. The
 * new content is on the disk when it resolves. Rejects with the system's error; the old file is then unchanged.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600, draft = `${path}.next`, isDurable = true }: ReplaceOptions = {},
): Promise<void> {
  // A draft left by a crash may have another mode, or be a link of another user.
  await rm(draft, { force: true });
  try {
    const file = await open(draft, "wx", mode);
    try {
      await file.writeFile(content);
      if (isDurable) await file.datasync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (thrown) {
    await rm(draft, { force: true });
    throw thrown;
  }
  if (isDurable) await flushDirectory(dirname(path));
}

/** Flushes a directory: without that a new or renamed file may be gone after a power cut. */
export async function flushDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** The text of a file; undefined if it does not exist. */
export async function readTextIfPresent(path: string): Promise<string | undefined> {
  return await readFile(path, "utf8").catch(recover(hasCode("ENOENT", "ENOTDIR"), undefined));
}
