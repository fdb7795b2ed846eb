import { type FileHandle, rename, rm } from "node:fs/promises";
import { codeOf } from "#lib/base/index.ts";
import { fileOfAge, indexOf, type Rotation } from "./log-files.ts";

/**
 * Gives the log's own name free: every file becomes one older, and the oldest goes. From the oldest to the youngest, so that a crash in
 * between loses no file but the one that was to go.
 */
export async function makeRoom(path: string, { maxFiles }: Pick<Rotation, "maxFiles">): Promise<void> {
  await removeFile(fileOfAge(path, maxFiles - 1));
  for (let age = maxFiles - 2; age >= 0; age--) await moveFile(fileOfAge(path, age), fileOfAge(path, age + 1));
}

/** A file of a log with its index. One that is not there is no error. */
export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(indexOf(path), { force: true });
}

/** The index after its file: a reader in between finds none, and reads a little more. */
export async function moveFile(from: string, to: string): Promise<void> {
  await renameIfThere(from, to);
  await rm(indexOf(to), { force: true });
  await renameIfThere(indexOf(from), indexOf(to));
}

async function renameIfThere(from: string, to: string): Promise<void> {
  await rename(from, to).catch((thrown: unknown) => {
    if (codeOf(thrown) !== "ENOENT") throw thrown;
  });
}

/** A short write (a nearly full disk) is continued, so that a record is never half there while others follow. */
export async function writeWhole(handle: FileHandle, buffers: readonly Buffer[]): Promise<void> {
  const bytes = buffers.length === 1 && buffers[0] !== undefined ? buffers[0] : Buffer.concat(buffers);
  for (let from = 0; from < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, from);
    from += bytesWritten;
  }
}
