import { randomBytes } from "node:crypto";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { type Cancel, type Clock, type Millis, toError } from "#lib/base/index.ts";
import type { CommitBatch, Damaged, Disk, DiskFigures, DiskMeta, Row } from "./disk.ts";
import { makeFile } from "./files.ts";
import { copyDatabase, type LmdbDisk, openLmdb, storeFile } from "./lmdb-disk.ts";
import { assertTaken, readSegments, redoFiles, removeRedo, replay, replayCopied } from "./redo-log.ts";
import { idBytes, joined } from "./redo-segment.ts";
import { SegmentFile } from "./segment-file.ts";
import { WatchedFiles } from "./files.ts";

/** How long and how much may be in the redo log alone, to be replayed on start. */
export interface CheckpointLimits {
  readonly everyMs: Millis;
  readonly segmentBytes: number;
  /** The tables take these in one turn of the event loop and reserve as many pages. */
  readonly segmentWrites: number;
}

export const defaultCheckpointLimits: CheckpointLimits = {
  everyMs: 1_000,
  segmentBytes: 16 * 2 ** 20,
  segmentWrites: 4_000,
};

const lookBytes = 2 ** 20;
/** Commits wait while the tables are opened again. */
const checkpointsPerRelease = 2;
/** Objects and records in pages that are not full, and the other file of the log. */
const roomPerByte = 4;

export type CheckpointedTables = Pick<
  LmdbDisk,
  | "meta"
  | "objects"
  | "records"
  | "system"
  | "checkpoint"
  | "compact"
  | "rewrite"
  | "releasePages"
  | "copyTo"
  | "close"
  | "abandon"
>;

/** Moves acknowledged writes to the tables. `createdAt` creates a store if it has no redo log. Needs the lock. */
export async function openRedo(
  directory: string,
  clock: Clock,
  createdAt?: string,
  limits = defaultCheckpointLimits,
): Promise<RedoDisk> {
  const segments = await readSegments(directory);
  // The log is made after the store, so there has been one.
  const tables = await openLmdb(join(directory, storeFile), segments === undefined ? createdAt : undefined);
  try {
    const { redo } = tables;
    if (redo === undefined) assertTaken(segments ?? [], tables.meta);
    else {
      await tables.checkpoint(replay(segments ?? [], redo, tables.meta), undefined);
      // Removed, because it may hold Secrets from before they were encrypted.
      await removeRedo(directory);
    }
    const disk = new RedoDisk(directory, tables, clock, limits);
    await disk.watch(join(directory, storeFile));
    return disk;
  } catch (thrown) {
    await tables.close();
    throw thrown;
  }
}

/** One write and flush per batch; the tables take the content in between. Two files alternate, so commits continue. */
export class RedoDisk implements Disk {
  readonly #directory: string;
  readonly #tables: CheckpointedTables;
  readonly #clock: Clock;
  readonly #limits: CheckpointLimits;
  readonly #files = new WatchedFiles();
  #active: SegmentFile | undefined;
  #spare: SegmentFile | undefined;
  /** Content of the active segment. */
  #pending: CommitBatch[] = [];
  #pendingWrites = 0;
  /** Length of the active segment at which to check the disk's free space. */
  #nextLook = lookBytes;
  /** Content of the other segment that is not in the tables yet. */
  #moving: readonly CommitBatch[] = [];
  #moved: Promise<void> = Promise.resolve();
  #revision: number;
  #checkpoints = 0;
  #nextRelease = checkpointsPerRelease;
  /** Commits are refused while set; a successful probe unsets it. */
  #failure: Error | undefined;
  #tell: (cause: Error) => void = () => undefined;
  #last: Promise<unknown> = Promise.resolve();
  #cancelTimer: Cancel | undefined;
  #isClosed = false;

  constructor(directory: string, tables: CheckpointedTables, clock: Clock, limits: CheckpointLimits) {
    this.#directory = directory;
    this.#tables = tables;
    this.#clock = clock;
    this.#limits = limits;
    this.#revision = tables.meta.revision;
  }

  get meta(): DiskMeta {
    return { ...this.#tables.meta, revision: this.#revision };
  }

  objects(damaged?: Damaged): Iterable<Row> {
    return this.#tables.objects(damaged);
  }

  records(damaged?: Damaged): Iterable<Row> {
    return this.#tables.records(damaged);
  }

  system(): Iterable<readonly [string, Buffer]> {
    return this.#tables.system();
  }

  onFailure(listener: (cause: Error) => void): void {
    this.#tell = listener;
  }

  figures(): DiskFigures {
    const moving = this.#moving.length === 0 ? 0 : (this.#spare?.bytes ?? 0);
    return { redoBytes: (this.#active?.bytes ?? 0) + moving, checkpoints: this.#checkpoints };
  }

  /** Also fails commits when this file is removed or replaced. */
  watch(path: string): Promise<void> {
    return this.#files.add(path);
  }

  commit(batch: CommitBatch): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#isClosed) throw new Error(`the store in ${this.#directory} is closed`);
      if (this.#failure !== undefined) throw this.#failure;
      this.#active ??= await this.#beginLog();
      await this.#files.assertInPlace();
      if (await this.#isLongEnough(this.#active)) await this.#rotate();
      await this.#active.append(batch);
      this.#revision = batch.revision;
      this.#pending.push(batch);
      this.#pendingWrites += batch.writes.length;
      this.#cancelTimer ??= this.#clock.after(this.#limits.everyMs, () => this.#checkpointDue());
    });
  }

  /** Flushes the log first: one of its records may need one that is to be dropped. */
  compact(compacted: number): Promise<void> {
    return this.#inTurn(async () => {
      await this.#flush();
      await this.#tables.compact(compacted);
      if (this.#checkpoints < this.#nextRelease) return;
      this.#nextRelease = this.#checkpoints + checkpointsPerRelease;
      await this.#tables.releasePages();
    });
  }

  /** Retries what failed, then writes an empty batch. */
  probe(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#moved;
      this.#failure = undefined;
      if (this.#moving.length > 0) this.#move();
      await this.#flush();
      this.#active ??= await this.#beginLog();
      await this.#active.append(joined([], this.#revision));
    });
  }

  /** Only before the first commit. */
  rewrite(objects: readonly Row[], records: readonly Row[]): Promise<void> {
    return this.#tables.rewrite(objects, records);
  }

  /** Only before the first commit or by a compaction. */
  releasePages(): Promise<void> {
    return this.#tables.releasePages();
  }

  backup(file: string): Promise<void> {
    return writeBackup(this.#directory, file, (copy) => this.#tables.copyTo(copy));
  }

  /** Moves everything to the tables and removes the log. If they cannot take it, the log stays for the next start. */
  close(): Promise<void> {
    return this.#inTurn(async () => {
      this.#isClosed = true;
      this.#cancelTimer?.();
      await this.#moved;
      const isWhole = this.#active !== undefined && this.#failure === undefined && (await this.#endLog());
      await this.#active?.close();
      await this.#spare?.close();
      await this.#tables.close();
      if (isWhole) await removeRedo(this.#directory);
    });
  }

  /** Leaves the segments open: a write may still be under way, and a closed descriptor may soon be another file's. */
  async abandon(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer?.();
    await this.#tables.abandon();
  }

  async #endLog(): Promise<boolean> {
    try {
      await this.#tables.checkpoint(joined(this.#pending, this.#revision), undefined);
      return true;
    } catch (thrown) {
      this.#fail(thrown);
      return false;
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** The tables refer to the log before it holds anything: the next start then refuses to run without it. */
  async #beginLog(): Promise<SegmentFile> {
    const file = await this.#beginSegment((this.#spare ??= await this.#openFile(0)));
    await this.#tables.checkpoint(joined([], this.#revision), file.link?.id);
    this.#spare = undefined;
    return file;
  }

  async #openFile(index: 0 | 1): Promise<SegmentFile> {
    const file = await SegmentFile.open(redoFiles(this.#directory)[index]);
    await this.#files.add(file.path);
    return file;
  }

  async #beginSegment(file: SegmentFile): Promise<SegmentFile> {
    const firstRevision = this.#revision + 1;
    const { clusterUid: store } = this.#tables.meta;
    await file.begin({ id: randomBytes(idBytes), store, firstRevision, previous: this.#active?.link });
    return file;
  }

  /** Long segments are also moved when the disk runs low, so that a full disk finds little in the log. */
  async #isLongEnough({ bytes }: SegmentFile): Promise<boolean> {
    const { segmentBytes, segmentWrites } = this.#limits;
    if (bytes > segmentBytes || this.#pendingWrites > segmentWrites) return true;
    if (bytes < this.#nextLook) return false;
    this.#nextLook = bytes + lookBytes;
    const { bavail, bsize } = await statfs(this.#directory);
    return bytes * roomPerByte > bavail * bsize;
  }

  #checkpointDue(): void {
    this.#cancelTimer = undefined;
    this.#inTurn(() => this.#rotate()).catch((thrown: unknown) => this.#fail(thrown));
  }

  /** Ends the active segment and starts moving it to the tables; waits if they are still busy with the one before. */
  async #rotate(): Promise<void> {
    await this.#moved;
    // The timer may have fired during `close`.
    if (this.#isClosed) return;
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#active === undefined || this.#pending.length === 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const next = await this.#beginSegment((this.#spare ??= await this.#openFile(1)));
    // Tells a start that another segment must follow this one.
    if (next.link !== undefined) await this.#active.end(next.link.id, this.#revision);
    [this.#active, this.#spare] = [next, this.#active];
    [this.#moving, this.#pending, this.#pendingWrites] = [this.#pending, [], 0];
    this.#nextLook = lookBytes;
    this.#move();
  }

  #move(): void {
    const { id } = this.#active?.link ?? {};
    const batch = joined(this.#moving, this.#revision);
    this.#moved = this.#tables.checkpoint(batch, id).then(
      () => {
        this.#moving = [];
        this.#checkpoints++;
      },
      (thrown: unknown) => this.#fail(thrown),
    );
  }

  async #flush(): Promise<void> {
    await this.#rotate();
    await this.#moved;
    if (this.#failure !== undefined) throw this.#failure;
  }

  #fail(thrown: unknown): void {
    this.#failure = toError(thrown);
    this.#tell(this.#failure);
  }
}

/** Copies a store consistently, also while another process uses it. Only `file` is written. */
export const copyStore = (directory: string, file: string): Promise<void> =>
  writeBackup(directory, file, (copy) => copyDatabase(join(directory, storeFile), copy));

/** The log is read before the tables are copied, so that it has everything they lack. */
async function writeBackup(directory: string, file: string, copyTo: (path: string) => Promise<void>): Promise<void> {
  const segments = (await readSegments(directory)) ?? [];
  await makeFile(file, async (draft) => {
    await copyTo(draft);
    const tables = await openLmdb(draft);
    try {
      const { redo } = tables;
      if (redo !== undefined) await tables.checkpoint(replayCopied(segments, redo, tables.meta), undefined);
    } finally {
      await tables.close();
    }
  });
}
