import { randomUUID } from "node:crypto";
import { rm, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { RootDatabase } from "lmdb";
import { codeOf, messageOf } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { openRow, sealRow } from "./checksum.ts";
import { decodeKey, encodeRevision, readRevision, recordKey, recordValue } from "./codec.ts";
import { prepareDatabaseFile } from "./database-file.ts";
import { pageBytes } from "./database-pages.ts";
import {
  type CommitBatch,
  type Damaged,
  type Disk,
  type DiskFigures,
  type DiskMeta,
  type DiskWrite,
  refuse,
  type Row,
} from "./disk.ts";
import { nameOf, readFailure, storeCorrupt, storeFormat, storeLost, TablesLostError } from "./errors.ts";
import { FileReserve } from "./file-reserve.ts";
import { ensurePrivateFile, flush, makeFile } from "./files.ts";
import { decodeRow, encodeRow, LogIndex, logRows } from "./log-rows.ts";

/** The database's file within a data directory. A backup is such a file. */
export const storeFile = "store.mdb";
/** Of the tables and their rows (codec.ts, checksum.ts, log-rows.ts). Any other is refused. */
const format = "3";

const binary = { encoding: "binary", keyEncoding: "binary" } as const;

/**
 * Values are read where the library puts them, in memory that the next read overwrites: a copy for each would be a buffer of
 * its own, which makes loading twice as slow.
 */
const inPlace = {
  encode: (value: Buffer): Buffer => value,
  decode: (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
};

const tableOptions = { ...binary, encoder: inPlace };

/** What is used of a table. The library's own types lack `put`'s third argument. */
interface Table {
  get(key: Buffer): Buffer | undefined;
  getRange(options: object): Iterable<{ readonly key: Uint8Array; readonly value: Buffer }>;
  put(key: Buffer, value: Buffer, options?: { readonly append: boolean }): Promise<boolean>;
  remove(key: Buffer): Promise<boolean>;
}

const metaKeys = {
  format: Buffer.from("format"),
  clusterUid: Buffer.from("clusterUID"),
  revision: Buffer.from("revision"),
  compacted: Buffer.from("compacted"),
  createdAt: Buffer.from("createdAt"),
  probe: Buffer.from("probe"),
  redo: Buffer.from("redo"),
} as const;

/** `obj` holds the state of every object, `log` the records of retained revisions, `sys` what is no API object. */
interface Tables {
  readonly env: RootDatabase<Buffer, Buffer>;
  readonly meta: Table;
  readonly obj: Table;
  readonly log: Table;
  readonly sys: Table;
}

/**
 * Opens a database file. With `createdAt` one that is missing or empty is made and marked with that time; without, it is an error, and
 * nothing is touched. The caller holds the lock of the directory that the file belongs to.
 */
export async function openLmdb(path: string, createdAt?: string): Promise<LmdbDisk> {
  await makeDirectories(dirname(path), 0o700);
  const found = await prepareDatabaseFile(path);
  if (found !== "present" && createdAt === undefined) throw storeLost(path, found);
  // LMDB opens no file of zeros.
  if (found === "empty") await rm(path);
  // LMDB makes files that all may read, and the directory of a copy may be open to all.
  await ensurePrivateFile(path);
  await ensurePrivateFile(`${path}-lock`);
  const tables = await openTables(path).catch((thrown: unknown) => {
    throw readFailure(thrown);
  });
  try {
    if (tables.meta.get(metaKeys.format) === undefined) {
      if (createdAt === undefined) throw storeLost(path, "foreign");
      await initialise(tables, createdAt);
      // Keys and a redo log are made only now: where they are, there has been a store.
      await flush(dirname(path));
      await flush(dirname(dirname(path)));
    }
    return new LmdbDisk(path, tables, readMeta(tables.meta), await FileReserve.open(path));
  } catch (thrown) {
    await tables.env.close();
    throw readFailure(thrown);
  }
}

// Imported on use: loading the library takes tens of milliseconds that commands without a store need not pay.
async function openTables(path: string): Promise<Tables> {
  const { open } = await import("lmdb");
  const env = open<Buffer, Buffer>({
    ...binary,
    path,
    noSubdir: true,
    // With overlapping flushes a commit is visible to readers before it is durable, and stays so when the flush fails.
    overlappingSync: false,
    // Batches are begun by the store, at the end of a turn; the library need not wait for another.
    eventTurnBatching: false,
    compression: false,
    maxDbs: 8,
    pageSize: pageBytes,
  });
  const table = (name: string): Table => env.openDB<Buffer, Buffer>(name, tableOptions);
  return { env, meta: table("meta"), obj: table("obj"), log: table("log"), sys: table("sys") };
}

async function initialise({ env, meta }: Tables, createdAt: string): Promise<void> {
  await commitWhole(env, [
    sealed(meta, metaKeys.clusterUid, Buffer.from(randomUUID())),
    sealed(meta, metaKeys.createdAt, Buffer.from(createdAt)),
    sealed(meta, metaKeys.revision, encodeRevision(0)),
    sealed(meta, metaKeys.compacted, encodeRevision(0)),
    // Without a checksum: programs with other formats have to find it.
    put(meta, metaKeys.format, Buffer.from(format)),
  ]);
}

function readMeta(meta: Table): DiskMeta {
  const found = meta.get(metaKeys.format)?.toString("utf8");
  if (found !== format) throw storeFormat(JSON.stringify(found), format);
  const wanted = (key: Buffer): Buffer => {
    const value = readSealed(meta, key);
    if (value === undefined) throw storeCorrupt(`meta.${key.toString()} is missing`);
    return value;
  };
  return {
    clusterUid: wanted(metaKeys.clusterUid).toString("utf8"),
    revision: readRevision(wanted(metaKeys.revision), 0),
    compacted: readRevision(wanted(metaKeys.compacted), 0),
  };
}

function readSealed(meta: Table, key: Buffer): Buffer | undefined {
  const bytes = meta.get(key);
  return bytes === undefined ? undefined : (openRow(key, bytes) ?? refuse(damage(`meta.${key.toString()}`)));
}

const damage = (what: string): Error => storeCorrupt(`${what} is damaged: its bytes were changed`);

/** The tables. Every change is a transaction of its own, so that they are whole at any moment; the redo log makes one of many. */
export class LmdbDisk implements Disk {
  readonly #path: string;
  #tables: Tables;
  #meta: DiskMeta;
  /** Undefined until the log has been read whole. */
  #index: LogIndex | undefined;
  #probes = 0;
  #copies = 0;
  #reopened: Promise<unknown> = Promise.resolve();
  readonly #reserve: FileReserve;

  constructor(path: string, tables: Tables, meta: DiskMeta, reserve: FileReserve) {
    this.#path = path;
    this.#reserve = reserve;
    this.#tables = tables;
    this.#meta = meta;
  }

  get meta(): DiskMeta {
    return this.#meta;
  }

  /** The segment of the redo log that is to be replayed first; undefined when everything is in the tables. */
  get redo(): Buffer | undefined {
    const id = readSealed(this.#tables.meta, metaKeys.redo);
    return id === undefined ? undefined : Buffer.from(id);
  }

  *objects(damaged: Damaged = refuse): Generator<Row> {
    for (const { key, value } of rows(this.#tables.obj)) {
      const opened = openRow(key, value);
      if (opened === undefined) damaged(damage(nameOf(decodeKey(key))));
      else yield { key, value: opened };
    }
  }

  /** Takes note of what a compaction has to know on the way, because that is the same pass over all of the log. */
  *records(damaged: Damaged = refuse): Generator<Row> {
    const index = new LogIndex();
    for (const { key, value } of rows(this.#tables.log)) {
      const first = readRevision(key, 0);
      const records = decodeRow(value, first, damaged);
      index.add({ first, records });
      for (const [at, record] of records.entries())
        yield { key: at === 0 ? key : encodeRevision(first + at), value: record };
    }
    this.#index = index;
  }

  /** Copied, unlike rows: these stay in memory for good. */
  *system(): Generator<readonly [string, Buffer]> {
    for (const { key, value } of rows(this.#tables.sys)) {
      const name = key.toString("utf8");
      yield [name, Buffer.from(openRow(key, value) ?? refuse(damage(`system record ${JSON.stringify(name)}`)))];
    }
  }

  /**
   * Lets go of the pages that have been read. The file is mapped into memory, and after loading, or some seconds of
   * writing, all of it counts as this process's. Not to be called while anything but a backup reads or writes. Rejects with
   * `TablesLostError` when the file cannot be opened again.
   */
  async releasePages(): Promise<void> {
    // Backups are made at any time.
    if (this.#copies > 0) return;
    const reopened = this.#tables.env.close().then(async () => {
      return await openTables(this.#path).catch((thrown: unknown) => refuse(new TablesLostError(thrown)));
    });
    this.#reopened = reopened;
    this.#tables = await reopened;
  }

  commit(batch: CommitBatch): Promise<void> {
    return this.#write(batch, []);
  }

  /**
   * Commits what the redo log holds, however much has been written to one object in it. `redo` is the segment from which a start
   * has to replay what comes next, if any.
   */
  checkpoint(batch: CommitBatch, redo: Buffer | undefined): Promise<void> {
    const { meta } = this.#tables;
    return this.#write(batch, [redo === undefined ? remove(meta, metaKeys.redo) : sealed(meta, metaKeys.redo, redo)]);
  }

  async #write(batch: CommitBatch, changes: Change[]): Promise<void> {
    const { meta, obj, log, sys } = this.#tables;
    for (const { deletes, record } of latestOf(batch.writes)) {
      changes.push(deletes ? remove(obj, recordKey(record)) : sealed(obj, recordKey(record), recordValue(record)));
    }
    const added = logRows(batch.writes);
    // Revisions only grow: appending fills pages to the end, which is a fifth of a commit's time.
    for (const row of added)
      changes.push({ table: log, key: encodeRevision(row.first), value: encodeRow(row), append: true });
    for (const { key, value } of batch.system) {
      changes.push(value === undefined ? remove(sys, Buffer.from(key)) : sealed(sys, Buffer.from(key), value));
    }
    if (batch.writes.length > 0) changes.push(sealed(meta, metaKeys.revision, encodeRevision(batch.revision)));
    await this.#commit(changes);
    for (const row of added) this.#index?.add(row);
    this.#meta = { ...this.#meta, revision: batch.revision };
  }

  /** One transaction, so that a crash leaves either all of the step or nothing of it. */
  async compact(compacted: number): Promise<void> {
    const { meta, log } = this.#tables;
    const index = this.#index ?? this.#readIndex();
    const changes = index.droppable(compacted).map((revision) => remove(log, encodeRevision(revision)));
    changes.push(sealed(meta, metaKeys.compacted, encodeRevision(compacted)));
    await this.#commit(changes);
    index.drop(compacted);
    this.#meta = { ...this.#meta, compacted };
  }

  #readIndex(): LogIndex {
    const index = new LogIndex();
    for (const { key, value } of rows(this.#tables.log)) {
      const first = readRevision(key, 0);
      index.add({ first, records: decodeRow(value, first) });
    }
    return (this.#index = index);
  }

  /** Goes the way of every commit, so that its success means that commits succeed. */
  probe(): Promise<void> {
    const { meta } = this.#tables;
    this.#probes++;
    return this.#commit([sealed(meta, metaKeys.probe, encodeRevision(this.#probes))]);
  }

  onFailure(): void {
    // Nothing is done here that nobody asked for.
  }

  figures(): DiskFigures {
    return { redoBytes: 0, checkpoints: 0 };
  }

  /**
   * Moves the revision forward to `revision` and forgets the log, so that everybody who saw a revision up to it has to list
   * again. For a store that takes the place of a newer one; not to be used while it serves.
   */
  raiseRevision(revision: number): Promise<void> {
    const { meta, log } = this.#tables;
    const changes = Array.from(rows(log), ({ key }) => remove(log, key));
    changes.push(sealed(meta, metaKeys.revision, encodeRevision(revision)));
    changes.push(sealed(meta, metaKeys.compacted, encodeRevision(revision)));
    return this.#commit(changes);
  }

  /**
   * A write that the disk takes half of is a broken disk to the library (EIO), and most disks fill up in just that way. Whether
   * there is room tells one from the other.
   */
  async #commit(changes: Change[]): Promise<void> {
    const { env } = this.#tables;
    const room = roomFor(changes);
    const used = (): number => usedBytes(env);
    if (!this.#reserve.take(room, used)) await this.#reserve.extend(room, used());
    try {
      await commitWhole(env, changes);
    } catch (thrown) {
      throw isIoError(thrown) && (await isWithoutRoom(dirname(this.#path))) ? noSpaceLeft(thrown) : thrown;
    }
  }

  /** Puts objects and records in the place of those with their keys, in one transaction. Not to be used while it serves. */
  rewrite(objects: readonly Row[], records: readonly Row[]): Promise<void> {
    const { obj, log } = this.#tables;
    const changes = objects.map(({ key, value }) => sealed(obj, key, value));
    const changed = new Map(records.map(({ key, value }) => [readRevision(key, 0), value]));
    for (const { key, value } of records.length === 0 ? [] : rows(log)) {
      const first = readRevision(key, 0);
      const old = decodeRow(value, first);
      const fresh = old.map((record, at) => changed.get(first + at) ?? record);
      if (fresh.some((record, at) => record !== old[at]))
        changes.push(put(log, key, Buffer.from(encodeRow({ records: fresh }))));
    }
    return this.#commit(changes);
  }

  /** A consistent copy, compacted. It still asks for the redo log that it has now. */
  async copyTo(file: string): Promise<void> {
    // Counted first: nothing is reopened from here on.
    this.#copies++;
    try {
      await this.#reopened;
      await this.#tables.env.backup(file, true);
    } finally {
      this.#copies--;
    }
  }

  async backup(file: string): Promise<void> {
    await makeFile(file, (draft) => this.copyTo(draft));
  }

  async close(): Promise<void> {
    await this.#reserve.close();
    await this.#tables.env.close();
  }

  async abandon(): Promise<void> {
    await this.#reserve.close().catch(() => undefined); // What has failed before was told.
  }
}

/** Where the last page in use ends. The library's own types lack what `getStats` answers. */
function usedBytes(env: Tables["env"]): number {
  const stats: { readonly lastPageNumber?: unknown } = env.getStats();
  if (typeof stats.lastPageNumber !== "number")
    throw new Error("the database library does not say which page is its last");
  return (stats.lastPageNumber + 1) * pageBytes;
}

/** For the root pages of all tables, the pages between roots and leaves, and the list of free pages. */
const roomForEach = 64 * pageBytes;

/**
 * The most that a transaction adds to the file, in bytes: the leaf of every change is copied, and may be split; values of more
 * than half a page have pages of their own.
 */
function roomFor(changes: readonly Change[]): number {
  let pages = 0;
  for (const { value } of changes) pages += 2 + Math.ceil((value?.length ?? 0) / pageBytes);
  return roomForEach + pages * pageBytes;
}

interface Change {
  readonly table: Table;
  readonly key: Buffer;
  /** Absent: the key is removed. */
  readonly value: Buffer | undefined;
  readonly append: boolean;
}

/** A key that is there gets the new value. */
const put = (table: Table, key: Buffer, value: Buffer): Change => ({ table, key, value, append: false });
/** The same with a checksum. */
const sealed = (table: Table, key: Buffer, value: Buffer): Change => put(table, key, sealRow(key, value));
const remove = (table: Table, key: Buffer): Change => ({ table, key, value: undefined, append: false });
const appended = { append: true } as const;

/**
 * Commits all changes in one transaction and resolves after the flush. The transaction runs in the library's writer thread,
 * so that this thread goes on serving; its `transaction(callback)` would run every put here. Medians of alternating runs, in
 * writes per second: 1,620 against 1,310 with one writer, 11,700 against 10,200 with 256. Both were tested with failing writes
 * and failing flushes: rejected, and nothing visible (test/crash/store-fault.test.ts).
 */
async function commitWhole(env: Tables["env"], changes: readonly Change[]): Promise<void> {
  try {
    await env.batch(() => {
      let handled: Promise<boolean> | undefined;
      for (const { table, key, value, append } of changes) {
        const outcome =
          value === undefined ? table.remove(key) : append ? table.put(key, value, appended) : table.put(key, value);
        // Most changes of a batch are answered with one and the same promise.
        if (outcome !== handled) outcome.catch(ignore);
        handled = outcome;
      }
    });
  } catch (thrown) {
    throw await commitCause(thrown);
  }
}

/** Less than a commit takes: it ends in the middle of one. */
const leastRoom = 1_048_576;

const isIoError = (thrown: unknown): boolean =>
  codeOf(thrown) === "EIO" ||
  (typeof thrown === "object" && thrown !== null && "code" in thrown && thrown.code === 5) ||
  /input\/output error/i.test(messageOf(thrown));

async function isWithoutRoom(directory: string): Promise<boolean> {
  // A disk that cannot even be asked is broken indeed.
  const room = await statfs(directory).catch(() => undefined);
  return room !== undefined && room.bavail * room.bsize < leastRoom;
}

const noSpaceLeft = (cause: unknown): Error =>
  Object.assign(new Error("no space left on device: a write was cut short", { cause }), { code: "ENOSPC" });

// Each put has a promise of its own besides the batch's; they fail together, and the batch's is the one that is awaited.
const ignore = (): void => undefined;

/** A snapshot: the library reads all of a range in one transaction. */
function* rows(table: Table): Generator<Row> {
  for (const { key, value } of table.getRange({})) yield { key: asBuffer(key), value };
}

/** Keys come as byte arrays of their own. */
const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** A failed commit says only that it failed; the reason is behind a second promise, which nobody else handles. */
async function commitCause(thrown: unknown): Promise<unknown> {
  if (typeof thrown !== "object" || thrown === null || !("commitError" in thrown)) return thrown;
  try {
    await thrown.commitError;
    return thrown;
  } catch (cause) {
    return cause;
  }
}

/** Copies a database that another process may be using, as `copyTo` does. Reads only. */
export async function copyDatabase(path: string, file: string): Promise<void> {
  const { open } = await import("lmdb");
  const env = open<Buffer, Buffer>({ ...binary, path, noSubdir: true, readOnly: true, maxDbs: 8 });
  try {
    await env.backup(file, true);
  } finally {
    await env.close();
  }
}

/** The last write of each object. */
function latestOf(writes: readonly DiskWrite[]): Iterable<DiskWrite> {
  if (writes.length < 2) return writes;
  const latest = new Map<string, DiskWrite>();
  for (const write of writes) latest.set(recordKey(write.record).toString("latin1"), write);
  return latest.values();
}
