import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { type Clock, formatInstant, type Logger, silentLog, systemClock } from "#lib/base/index.ts";
import { type CommitLimits, defaultCommitLimits, type Failpoints } from "./committer.ts";
import { defaultRetention, type RetentionLimits } from "./compaction.ts";
import type { Disk } from "./disk.ts";
import { readFailure } from "./errors.ts";
import type { IndexDefinition } from "./image.ts";
import { LiveStore } from "./live-store.ts";
import { storeFile } from "./lmdb-disk.ts";
import { loadState } from "./recovery.ts";
import { type CheckpointLimits, defaultCheckpointLimits, openRedo } from "./redo-disk.ts";
import { SealedDisk, type SealingKey } from "./sealed-disk.ts";
import type { StoreState } from "./state.ts";
import type { Store } from "./store.ts";

export interface StoreOptions {
  /** For compaction and for probing a full disk. */
  readonly clock?: Clock;
  readonly log?: Logger;
  /** Called once when the disk broke for good. The process should exit with code 5. */
  readonly onFatal?: (error: Error) => void;
  readonly indexes?: readonly IndexDefinition[];
  /** Reject instead of creating a store. */
  readonly mustExist?: boolean;
  /** Secrets are encrypted with the first key; all keys decrypt. */
  readonly encryptionKeys?: readonly SealingKey[];
  /** Estimated bytes of cached parsed objects. */
  readonly cacheBytes?: number;
  readonly failpoints?: Failpoints;
  readonly limits?: Partial<CommitLimits>;
  readonly retention?: Partial<RetentionLimits>;
  readonly checkpoints?: Partial<CheckpointLimits>;
}

export interface DurableStore extends Store {
  /** Writes a consistent, compacted copy while the store is in use. */
  backup(file: string): Promise<void>;
  /** The database file, which never shrinks. */
  readonly file: string;
}

const manyRows = 2000;

/** Room for some 20,000 parsed objects of 1 KB. */
const defaultCacheBytes = 16 * 2 ** 20;

/** Opens or creates a store. The caller holds the lock. Rejects with `store-corrupt` or `store-format`. */
export async function openStore(directory: string, options: StoreOptions = {}): Promise<DurableStore> {
  const { clock = systemClock } = options;
  const checkpoints = { ...defaultCheckpointLimits, ...options.checkpoints };
  const createdAt = options.mustExist === true ? undefined : formatInstant(clock.now());
  const disk = await openRedo(directory, clock, createdAt, checkpoints);
  try {
    const sealed = new SealedDisk(disk, options.encryptionKeys ?? []);
    await sealed.reseal();
    const state = load(sealed, options);
    // Reads are served from memory from here on.
    if (state.image.objects + state.ring.length > manyRows) await disk.releasePages();
    const store = liveStore(sealed, state, options);
    return Object.assign(store, { file: join(directory, storeFile), backup: (file: string) => disk.backup(file) });
  } catch (thrown) {
    await disk.close();
    throw readFailure(thrown);
  }
}

/** The same store without a disk, for tests and one-off runs. */
export function memoryStore(options: StoreOptions = {}): Store {
  const disk = memoryDisk();
  return liveStore(disk, load(disk, options), options);
}

/** Throws when the disk is inconsistent; the caller still closes it. */
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

/** A disk that keeps nothing. */
export function memoryDisk(): Disk {
  return {
    /** Random, so that continue tokens of another store are not accepted. */
    meta: { clusterUid: randomUUID(), revision: 0, compacted: 0 },
    objects: () => [],
    records: () => [],
    system: () => [],
    commit: () => Promise.resolve(),
    compact: () => Promise.resolve(),
    probe: () => Promise.resolve(),
    onFailure: () => undefined,
    figures: () => ({ redoBytes: 0, checkpoints: 0 }),
    backup: () => Promise.reject(new Error("a store in memory has no backup")),
    close: () => Promise.resolve(),
    abandon: () => Promise.resolve(),
  };
}
