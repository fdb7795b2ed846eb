import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf, hasCode, type JsonObject, recover, SlipwayError } from "#lib/base/index.ts";
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

// `slipway store` on the data directory of `slipway up --data-dir`, an absolute path.

export interface Backup {
  readonly file: string;
  readonly bytes: number;
}

/** Copies the store to `file` as a whole, consistently, also while a server runs. Freed space is omitted. */
export async function backup(directory: string, file: string): Promise<Backup> {
  await expectStore(directory);
  await backupStore(storeOf(directory), file);
  return { file, bytes: (await stat(file)).size };
}

/** `isCopy`: a server uses the store, so that a copy was checked. */
export interface Check extends CheckReport {
  readonly isCopy: boolean;
}

/** Reads every row. Rejects only if the store does not open; everything else is in `findings`. */
export const check = (directory: string, keyFile?: string): Promise<Check> =>
  atRest(directory, async (store, isCopy) => ({
    ...(await checkStore(store, await keysIn(keyFile, directory))),
    isCopy,
  }));

const keysIn = async (keyFile: string | undefined, directory: string): Promise<readonly SealingKey[]> =>
  keyFile === undefined ? [] : await readEncryptionKeys(keyFile, directory);

/** All objects of one revision, with secrets, in creatable order: namespaces and definitions first, then owners. */
export const exportAll = (directory: string, keyFile?: string): Promise<readonly JsonObject[]> =>
  atRest(directory, async (path) => {
    const store = await openStore(path, { mustExist: true, encryptionKeys: await keysIn(keyFile, directory) });
    try {
      return exportObjects(store);
    } finally {
      await store.close();
    }
  });

/** Restores a checked backup; the old store is kept as `replaced`. Rejects: `store-locked`, `insecure-permissions`. */
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

const storeOf = (directory: string): string => join(directory, "store");

/** Opening a missing store would create an empty one, as if everything were lost. */
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

/** Calls `use` with a store that does not change: the locked one, or a copy if a server has the lock. */
async function atRest<T>(directory: string, use: (store: string, isCopy: boolean) => Promise<T>): Promise<T> {
  await expectStore(directory);
  const lock = await lockDirectory(directory).catch(recover(hasCode("store-locked"), undefined));
  if (lock === undefined) return await onCopy(directory, use);
  try {
    return await use(storeOf(directory), false);
  } finally {
    await lock.release();
  }
}

/** The copy holds all secrets: its directory is private, and removed in any case. */
async function onCopy<T>(directory: string, use: (store: string, isCopy: boolean) => Promise<T>): Promise<T> {
  const copy = await mkdtemp(join(tmpdir(), "slipway-store-"));
  try {
    await backupStore(storeOf(directory), join(copy, "store.mdb"));
    return await use(copy, true);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}
