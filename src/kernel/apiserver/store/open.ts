import { join } from "node:path";
import { type Clock, formatInstant, type Logger, silentLog, systemClock } from "#lib/base/index.ts";
import { type CommitLimits, defaultCommitLimits, type Failpoints } from "./committer.ts";
import { defaultRetention, type RetentionLimits } from "./compaction.ts";
import type { Disk } from "./disk.ts";
import { readFailure } from "./errors.ts";
import type { IndexDefinition } from "./extra-index.ts";
import { LiveStore } from "./live-store.ts";
import { openLmdb, storeFile } from "./lmdb-disk.ts";
import { memoryDisk } from "./memory-disk.ts";
import { loadState } from "./recovery.ts";
import type { Store } from "./store.ts";

export interface StoreOptions {
  /** For compaction and for probing a full disk. */
  readonly clock?: Clock;
  readonly log?: Logger;
  /** The disk broke for good; called once. The process should end with exit code 5. */
  readonly onFatal?: (error: Error) => void;
  readonly indexes?: readonly IndexDefinition[];
  /** Reckoned bytes of parsed objects kept. */
  readonly cacheBytes?: number;
  readonly failpoints?: Failpoints;
  readonly limits?: Partial<CommitLimits>;
  readonly retention?: Partial<RetentionLimits>;
}

/** A store with a file behind it. */
export interface DurableStore extends Store {
  /** Writes a consistent, compacted copy to `file` while the store is in use. The copy is a whole database file. */
  backup(file: string): Promise<void>;
}

const defaultCacheBytes = 64 * 2 ** 20;

/**
 * Opens the store of a data directory, creating it if there is none. The caller holds the directory's lock (`lock.ts`).
 * Rejects with `store-corrupt` or `store-format` when what is there cannot be trusted.
 */
export async function openStore(directory: string, options: StoreOptions = {}): Promise<DurableStore> {
  const disk = await openLmdb(join(directory, storeFile), formatInstant((options.clock ?? systemClock).now()));
  try {
    const store = liveStore(disk, options);
    return Object.assign(store, { backup: (file: string) => disk.backup(file) });
  } catch (thrown) {
    await disk.close();
    throw readFailure(thrown);
  }
}

/** The same store without a disk, for tests and one-off runs: nothing survives it. */
export const memoryStore = (options: StoreOptions = {}): Store => liveStore(memoryDisk(), options);

function liveStore(disk: Disk, options: StoreOptions): LiveStore {
  return new LiveStore({
    disk,
    state: loadState(disk, options.indexes ?? [], options.cacheBytes ?? defaultCacheBytes),
    clock: options.clock ?? systemClock,
    log: options.log ?? silentLog,
    onFatal: options.onFatal ?? (() => undefined),
    failpoints: options.failpoints ?? {},
    limits: { ...defaultCommitLimits, ...options.limits },
    retention: { ...defaultRetention, ...options.retention },
  });
}
