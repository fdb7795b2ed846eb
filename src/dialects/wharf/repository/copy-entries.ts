import { constants, copyFileSync, mkdirSync, utimesSync } from "node:fs";
import { chmod, copyFile, lutimes, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { inParallel, messageOf } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { isGone, unreadable } from "./errors.ts";
import type { OverlayFile, RepositoryEntry } from "./entry.ts";

/** Files copied at once. */
const width = 16;

/** Smaller files are copied synchronously, which is cheaper than a thread. */
const smallBytes = 64 * 1024;

/** Small files between two turns of the event loop. */
const atOnce = 128;

export interface CopyOptions {
  readonly from: string;
  readonly to: string;
  readonly signal: AbortSignal;
  readonly isSnapshot?: boolean;
  /** Called for vanished files; if absent they are errors. */
  readonly onGone?: (path: string) => void;
}

/** Copies entries, which are sorted by path, into a new directory with modes and times; blocks are shared if the file
 * system can. */
export async function copyEntries(entries: readonly RepositoryEntry[], options: CopyOptions): Promise<void> {
  const { from, to, signal, isSnapshot = false, onGone } = options;
  await makeDirectories(to, 0o700);
  const directories = entries.filter(({ kind }) => kind === "directory");
  // Parents come first. Read-only directories get their mode at the end.
  for (const [index, { path, mode }] of directories.entries()) {
    mkdirSync(join(to, path), { mode: mode | 0o700 });
    if (index % atOnce === atOnce - 1) await new Promise(setImmediate);
  }
  let done = 0;
  // No hard links: the step writes to its copy.
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

const nothing = Promise.resolve();

export async function writeOverlay(overlay: readonly OverlayFile[], to: string): Promise<void> {
  for (const { path, bytes, mode } of overlay) {
    await makeDirectories(dirname(join(to, path)));
    await writeFile(join(to, path), bytes, { mode, flag: "wx" });
  }
}
