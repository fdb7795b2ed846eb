import { constants, copyFileSync, mkdirSync, utimesSync } from "node:fs";
import { chmod, copyFile, lutimes, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { inParallel, messageOf } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { isGone, unreadable } from "./errors.ts";
import type { OverlayFile, RepositoryEntry } from "./repository.ts";

/** Files under way at once: enough for all threads that Node has for files, and for several copies side by side. */
const width = 16;

/** Copied in the turn of the caller: asking a thread for it costs more than the copy does. */
const smallBytes = 64 * 1024;

/** Small files after which others have their turn: some milliseconds. */
const atOnce = 128;

/** Where entries are copied from and to, both absolute. */
export interface CopyOptions {
  readonly from: string;
  readonly to: string;
  readonly signal: AbortSignal;
  /** There everything is at its path, wherever it came from. */
  readonly isSnapshot?: boolean;
  /** Told of a file that is gone; absent: that is a failure. */
  readonly onGone?: (path: string) => void;
}

/**
 * Copies entries, which are in the order of their paths, into a directory that is made. Links are made anew as they are written; modes and times
 * are those of the entries. Blocks are shared until they are written to, where the file system can do that.
 */
export async function copyEntries(entries: readonly RepositoryEntry[], options: CopyOptions): Promise<void> {
  const { from, to, signal, isSnapshot = false, onGone } = options;
  await makeDirectories(to, 0o700);
  const directories = entries.filter(({ kind }) => kind === "directory");
  // One after the other, because each is in one before it. What nobody may write to is filled first.
  for (const [index, { path, mode }] of directories.entries()) {
    mkdirSync(join(to, path), { mode: mode | 0o700 });
    if (index % atOnce === atOnce - 1) await new Promise(setImmediate);
  }
  let done = 0;
  // The copy is written to by its step: a link to the same blocks of the disk would be written through.
  const copy = async (entry: RepositoryEntry): Promise<void> => {
    signal.throwIfAborted();
    const target = join(to, entry.path);
    const source = isSnapshot ? join(from, entry.path) : (entry.source ?? join(from, entry.path));
    const isSmall = entry.size <= smallBytes;
    const mode = constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL;
    try {
      if (isSmall) copyFileSync(source, target, mode);
      else await copyFile(source, target, mode);
    } catch (thrown) {
      if (!isGone(thrown) || onGone === undefined) throw unreadable(entry.path, messageOf(thrown), thrown);
      return onGone(entry.path);
    }
    utimesSync(target, entry.modified / 1000, entry.modified / 1000);
    if (isSmall && ++done % atOnce === 0) await new Promise(setImmediate);
  };
  const link = async ({ path, target = "", modified }: RepositoryEntry): Promise<void> => {
    await symlink(target, join(to, path));
    await lutimes(join(to, path), modified / 1000, modified / 1000);
  };
  await inParallel(
    entries,
    (entry) => (entry.kind === "file" ? copy(entry) : entry.kind === "link" ? link(entry) : nothing),
    width,
  );
  for (const { path, mode, modified } of directories.toReversed()) {
    if ((mode & 0o700) !== 0o700) await chmod(join(to, path), mode);
    utimesSync(join(to, path), modified / 1000, modified / 1000);
  }
}

/** Directories are there already. */
const nothing = Promise.resolve();

/** Writes files into a copy that has nothing in their places. */
export async function writeOverlay(overlay: readonly OverlayFile[], to: string): Promise<void> {
  for (const { path, bytes, mode } of overlay) {
    await makeDirectories(dirname(join(to, path)));
    await writeFile(join(to, path), bytes, { mode, flag: "wx" });
  }
}
