import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf, type JsonObject, SlipwayError } from "#lib/base/index.ts";
import { makeDirectories, refuseShared } from "#lib/base/index.node.ts";
import {
  backupStore,
  type CheckReport,
  checkStore,
  exportObjects,
  lockDirectory,
  openStore,
  readEncryptionKeys,
  restoreStore,
  type SealingKey,
} from "#kernel/apiserver/index.ts";

// What `slipway store` does with a data directory. `directory` is that of `slipway up --data-dir`, an absolute path.

/** A backup that was written. */
export interface Backup {
  readonly file: string;
  readonly bytes: number;
}

/**
 * Copies the store to `file`, consistently, also while a server writes to it; `file` is whole or not there, and replaced when
 * it was. The copy takes what is stored now and nothing of what was freed, so that it is the way to make a store smaller.
 */
export async function backup(directory: string, file: string): Promise<Backup> {
  await expectStore(directory);
  await backupStore(storeOf(directory), file);
  return { file, bytes: (await stat(file)).size };
}

/** What a check has found. `isCopy`: a server uses the store, so that a copy made at that moment was looked at. */
export interface Check extends CheckReport {
  readonly isCopy: boolean;
}

/** Reads every row. Rejects only when the store does not open at all; everything else wrong is in `findings`. */
export const check = (directory: string, keyFile?: string): Promise<Check> =>
  atRest(directory, async (store, isCopy) => ({
    ...(await checkStore(store, await keysIn(keyFile, directory))),
    isCopy,
  }));

/** Of a store whose Secrets are encrypted; none when no file is named, which is right for the others. */
const keysIn = async (keyFile: string | undefined, directory: string): Promise<readonly SealingKey[]> =>
  keyFile === undefined ? [] : await readEncryptionKeys(keyFile, directory);

/**
 * All objects as they are stored, secrets among them, in an order in which they can be created again: namespaces and
 * definitions first, owners before what they own. All of one revision, also while a server goes on writing.
 */
export const exportAll = (directory: string, keyFile?: string): Promise<readonly JsonObject[]> =>
  atRest(directory, async (path) => {
    const store = await openStore(path, { mustExist: true, encryptionKeys: await keysIn(keyFile, directory) });
    try {
      return exportObjects(store);
    } finally {
      await store.close();
    }
  });

/**
 * Makes a backup the store of a directory, which is created when there is none. The backup is checked before anything is
 * touched, and what was there is kept as `replaced`. Rejects with `store-locked` while a server uses the directory, and with
 * `insecure-permissions` when other users can, as a server would.
 */
export async function restore(
  file: string,
  directory: string,
  keyFile?: string,
): Promise<{ readonly replaced: string | undefined }> {
  if (!(await isThere(file))) throw new SlipwayError("no-backup", `there is no file ${file}`);
  await makeDirectories(directory, 0o700);
  await refuseShared(directory);
  const lock = await lockDirectory(directory);
  try {
    return await restoreStore(file, storeOf(directory), await keysIn(keyFile, directory));
  } finally {
    await lock.release();
  }
}

/** The folder of the store itself; beside it lie certificates, logs and the lock. */
const storeOf = (directory: string): string => join(directory, "store");

/** Opening a store that is not there would make an empty one, which looks as if everything were lost. */
async function expectStore(directory: string): Promise<void> {
  if (await isThere(join(storeOf(directory), "store.mdb"))) return;
  const hint = "name the directory that was given to slipway up with --data-dir";
  throw new SlipwayError("no-store", `there is no store in ${directory}`, { hint });
}

async function isThere(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR") return false;
    throw thrown;
  }
}

/** Gives `use` the directory of a store that nobody changes meanwhile: the locked one, or a copy when a server has the lock. */
async function atRest<T>(directory: string, use: (store: string, isCopy: boolean) => Promise<T>): Promise<T> {
  await expectStore(directory);
  const lock = await lockDirectory(directory).catch((thrown: unknown) => {
    if (codeOf(thrown) !== "store-locked") throw thrown;
  });
  if (lock === undefined) return await onCopy(directory, use);
  try {
    return await use(storeOf(directory), false);
  } finally {
    await lock.release();
  }
}

/** The copy holds all secrets: its directory is the user's own, and gone afterwards whatever happens. */
async function onCopy<T>(directory: string, use: (store: string, isCopy: boolean) => Promise<T>): Promise<T> {
  const copy = await mkdtemp(join(tmpdir(), "slipway-store-"));
  try {
    await backupStore(storeOf(directory), join(copy, "store.mdb"));
    return await use(copy, true);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}
