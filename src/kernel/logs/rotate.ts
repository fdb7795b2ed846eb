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

/** Below this a buffer is joined with the others: each of those that are not costs something. */
const worthItself = 16 * 1024;

/** A short write (a nearly full disk) is continued, so that a record is never half there while others follow. */
export async function writeWhole(handle: FileHandle, buffers: readonly Buffer[]): Promise<void> {
  const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0);
  let written = 0;
  if (buffers.length > 1 && length >= worthItself * buffers.length)
    written = (await handle.writev([...buffers])).bytesWritten;
  if (written === length) return;
  const bytes = buffers.length === 1 && buffers[0] !== undefined ? buffers[0] : Buffer.concat(buffers);
  while (written < length) written += (await handle.write(bytes, written)).bytesWritten;
}
