import { chmod, mkdir, open, rename, rm, statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

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

/**
 * Makes the file that a place names elsewhere first, so that it is whole or not there, and its owner's alone from its first byte on:
 * `make` is given a path beside which it may put what it needs. What an earlier life of it has left is removed.
 */
export async function makeFile(place: string, make: (draft: string) => Promise<void>): Promise<void> {
  const apart = `${place}.unfinished`;
  await rm(apart, { recursive: true, force: true });
  // Fails when somebody else was faster: what he has prepared is not written into.
  await mkdir(apart, { mode: 0o700 });
  try {
    const draft = join(apart, basename(place));
    await make(draft);
    await chmod(draft, 0o600);
    await replaceFile(draft, place);
  } finally {
    await rm(apart, { recursive: true, force: true });
  }
}

/** Makes sure that there is a file which only its owner can use, for what would be made by others with the modes of this process. */
export async function ensurePrivateFile(path: string): Promise<void> {
  const file = await open(path, "a", 0o600);
  try {
    await file.chmod(0o600);
  } finally {
    await file.close();
  }
}
