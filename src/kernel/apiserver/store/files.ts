import { open, rename, statfs } from "node:fs/promises";
import { dirname } from "node:path";

/** Puts a finished file in its place, durably: its content first, then its name. */
export async function replaceFile(finished: string, place: string): Promise<void> {
  await flush(finished);
  await rename(finished, place);
  await flush(dirname(place));
}

/** A directory's flush makes the names in it durable; it can only be opened for reading. */
export async function flush(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * ext4 and XFS carry out a write to a file opened with `O_DSYNC` as a write and an `fdatasync` of it, one call instead of two. Of other
 * file systems not all heed the flag, and one that does not says nothing; on macOS it leaves the drive's own memory unflushed.
 */
const durableTypes: ReadonlySet<number> = new Set([0xef53, 0x58465342]);

/** Whether `O_DSYNC` makes writes to a file durable. */
export const endsDurably = async (path: string): Promise<boolean> =>
  process.platform === "linux" && durableTypes.has((await statfs(path)).type);
