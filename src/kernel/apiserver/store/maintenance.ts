import { chmod, copyFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, messageOf, systemClock } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { checkRows, type CheckReport } from "./check.ts";
import { storeCorrupt } from "./errors.ts";
import { replaceFile } from "./files.ts";
import { SealedDisk, type SealingKey } from "./sealed-disk.ts";
import { openLmdb, storeFile } from "./lmdb-disk.ts";
import { copyStore, openRedo } from "./redo-disk.ts";
import { moveRedoAway } from "./redo-log.ts";

export const backupStore = copyStore;

/** `keys` open encrypted Secrets. Rejects only when the store does not open. */
export async function checkStore(directory: string, keys: readonly SealingKey[] = []): Promise<CheckReport> {
  const disk = await openRedo(directory, systemClock);
  try {
    return checkRows(new SealedDisk(disk, keys));
  } finally {
    await disk.close();
  }
}

/** Checks and restores a backup; returns the replaced store's path. Revisions continue, so old watches list again. */
export async function restoreStore(
  file: string,
  directory: string,
  keys: readonly SealingKey[] = [],
): Promise<{ readonly replaced: string | undefined }> {
  const place = join(directory, storeFile);
  const copy = `${place}.restoring`;
  await makeDirectories(directory, 0o700);
  await rm(copy, { force: true });
  await copyFile(file, copy);
  // A copy has the rights of the backup.
  await chmod(copy, 0o600);
  try {
    await prepare(copy, file, await revisionOf(directory), keys);
    const replaced = await moveAway(place);
    await moveRedoAway(directory);
    await replaceFile(copy, place);
    return { replaced };
  } finally {
    await rm(copy, { force: true });
    await rm(`${copy}-lock`, { force: true });
  }
}

/** Prepares the copy to replace a store at `replacedRevision`; throws with all findings. */
async function prepare(
  copy: string,
  file: string,
  replacedRevision: number,
  keys: readonly SealingKey[],
): Promise<void> {
  const disk = await openLmdb(copy).catch((cause: unknown) => {
    throw unsound(file, [messageOf(cause)], cause);
  });
  try {
    if (disk.redo !== undefined) throw unsound(file, ["it was copied without its redo log"]);
    const { findings, revision } = checkRows(new SealedDisk(disk, keys));
    if (findings.length > 0) throw unsound(file, findings);
    if (revision < replacedRevision) await disk.raiseRevision(replacedRevision + 1);
  } finally {
    await disk.close();
  }
}

const unsound = (file: string, findings: readonly string[], cause?: unknown): Error =>
  storeCorrupt(`${file} is not a sound backup: ${findings.join("; ")}`, cause);

/** 0 when there is no store or it does not open: the replaced store may be broken. */
async function revisionOf(directory: string): Promise<number> {
  try {
    const disk = await openRedo(directory, systemClock);
    await disk.close();
    return disk.meta.revision;
  } catch {
    return 0;
  }
}

/** A second restore replaces the first one's leftovers. */
async function moveAway(place: string): Promise<string | undefined> {
  const replaced = `${place}.replaced`;
  try {
    await rename(place, replaced);
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
  await rm(`${place}-lock`, { force: true });
  return replaced;
}
