import { join } from "node:path";
import { type Clock, formatInstant, type Logger, silentLog, systemClock } from "#lib/base/index.ts";
import { type CommitLimits, defaultCommitLimits, type Failpoints } from "./committer.ts";
import { defaultRetention, type RetentionLimits } from "./compaction.ts";
import type { Disk } from "./disk.ts";
import { readFailure } from "./errors.ts";
import type { IndexDefinition } from "./extra-index.ts";
import { LiveStore } from "./live-store.ts";
import { storeFile } from "./lmdb-disk.ts";
import { memoryDisk } from "./memory-disk.ts";
import { loadState } from "./recovery.ts";
import { type CheckpointLimits, defaultCheckpointLimits, openRedo } from "./redo-disk.ts";
import { SealedDisk, type SealingKey } from "./sealed-disk.ts";
import type { StoreState } from "./state.ts";
import type { Store } from "./store.ts";

/** All optional; what is left out is what a server uses. */
export interface StoreOptions {
  /** For compaction and for probing a full disk. */
  readonly clock?: Clock;
  readonly log?: Logger;
  /** The disk broke for good; called once. The process should end with exit code 5. */
  readonly onFatal?: (error: Error) => void;
  readonly indexes?: readonly IndexDefinition[];
  /** Refuses to make a store: something else says that there has been one. */
  readonly mustExist?: boolean;
  /** Secrets are kept encrypted with the first of these; all of them open what is there. Not encrypted without. */
  readonly encryptionKeys?: readonly SealingKey[];
  /** Reckoned bytes of parsed objects kept. */
  readonly cacheBytes?: number;
  /** Only for tests. */
  readonly failpoints?: Failpoints;
  readonly limits?: Partial<CommitLimits>;
  readonly retention?: Partial<RetentionLimits>;
  readonly checkpoints?: Partial<CheckpointLimits>;
}

/** A store with a file behind it. */
export interface DurableStore extends Store {
  /** Writes a consistent, compacted copy to `file` while the store is in use. The copy is a whole database file. */
  backup(file: string): Promise<void>;
  /** Where it is; the size of this file never shrinks. */
  readonly file: string;
}

/** Rows whose pages are worth letting go of after loading: some megabytes. */
const manyRows = 2000;

/** Reckoned at three bytes a byte of JSON: room for some 20,000 objects of 1 KB, or 7,000 workflows of 3 KB. */
const defaultCacheBytes = 64 * 2 ** 20;

/**
 * Opens the store of a data directory, creating it if there is none. The caller holds the directory's lock (`lock.ts`).
 * Rejects with `store-corrupt` or `store-format` when what is there cannot be trusted.
 */
export async function openStore(directory: string, options: StoreOptions = {}): Promise<DurableStore> {
  const { clock = systemClock } = options;
  const checkpoints = { ...defaultCheckpointLimits, ...options.checkpoints };
  const createdAt = options.mustExist === true ? undefined : formatInstant(clock.now());
  const disk = await openRedo(directory, clock, createdAt, checkpoints);
  try {
    const sealed = new SealedDisk(disk, options.encryptionKeys ?? []);
    await sealed.reseal();
    const state = load(sealed, options);
    // Everything is in memory now, and reads are served from there. Small stores need not be opened twice.
    if (state.image.objects + state.ring.length > manyRows) await disk.releasePages();
    const store = liveStore(sealed, state, options);
    return Object.assign(store, { file: join(directory, storeFile), backup: (file: string) => disk.backup(file) });
  } catch (thrown) {
    await disk.close();
    throw readFailure(thrown);
  }
}

/** The same store without a disk, for tests and one-off runs: nothing survives it. */
export function memoryStore(options: StoreOptions = {}): Store {
  const disk = memoryDisk();
  return liveStore(disk, load(disk, options), options);
}

/** Throws when the disk contradicts itself; then the disk is still the caller's to close. */
const load = (disk: Disk, { indexes = [], cacheBytes = defaultCacheBytes }: StoreOptions): StoreState =>
  loadState(disk, indexes, cacheBytes);

function liveStore(disk: Disk, state: StoreState, options: StoreOptions): LiveStore {
  return new LiveStore({
    disk,
    state,
    clock: options.clock ?? systemClock,
    log: options.log ?? silentLog,
    onFatal: options.onFatal ?? (() => undefined),
    failpoints: options.failpoints ?? {},
    limits: { ...defaultCommitLimits, ...options.limits },
    retention: { ...defaultRetention, ...options.retention },
  });
}
