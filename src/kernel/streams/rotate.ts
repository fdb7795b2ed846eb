import { type FileHandle, rename, rm } from "node:fs/promises";
import { hasCode, recover } from "#lib/base/index.ts";
import { fileOfAge, indexOf, type Rotation } from "./log-files.ts";

/** Makes every file one older, and removes the oldest; oldest first, so that a crash loses no other file. */
export async function makeRoom(path: string, { maxFiles }: Pick<Rotation, "maxFiles">): Promise<void> {
  await removeFile(fileOfAge(path, maxFiles - 1));
  for (let age = maxFiles - 2; age >= 0; age--) await moveFile(fileOfAge(path, age), fileOfAge(path, age + 1));
}

export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(indexOf(path), { force: true });
}

/** The index after its file: a reader in between finds none, which is harmless. */
export async function moveFile(from: string, to: string): Promise<void> {
  await renameIfThere(from, to);
  await rm(indexOf(to), { force: true });
  await renameIfThere(indexOf(from), indexOf(to));
}

async function renameIfThere(from: string, to: string): Promise<void> {
  await rename(from, to).catch(recover(hasCode("ENOENT"), undefined));
}

/** Smaller buffers are joined before writing. */
const worthItself = 16 * 1024;

/** Continues after a short write (a nearly full disk). */
export async function writeWhole(handle: FileHandle, buffers: readonly Buffer[]): Promise<void> {
  const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0);
  let written = 0;
  if (buffers.length > 1 && length >= worthItself * buffers.length)
    written = (await handle.writev([...buffers])).bytesWritten;
  if (written === length) return;
  const bytes = buffers.length === 1 && buffers[0] !== undefined ? buffers[0] : Buffer.concat(buffers);
  while (written < length) written += (await handle.write(bytes, written)).bytesWritten;
}
