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

/** The database's file in a data directory. A backup is such a file. */
export const storeFile = "store.mdb";
/** Format of the tables and their rows. Any other is refused. */
const format = "3";

const binary = { encoding: "binary", keyEncoding: "binary" } as const;

/** Values are read in place, in memory that the next read overwrites: copying each would make loading twice as slow. */
const inPlace = {
  encode: (value: Buffer): Buffer => value,
  decode: (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
};

const tableOptions = { ...binary, encoder: inPlace };

/** LMDB's own types lack `put`'s third argument. */
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

/** Object states, records of retained revisions, and system records. */
interface Tables {
  readonly env: RootDatabase<Buffer, Buffer>;
  readonly meta: Table;
  readonly obj: Table;
  readonly log: Table;
  readonly sys: Table;
}

/** Creates a missing or empty file with `createdAt`, else rejects. The caller holds the directory's lock. */
export async function openLmdb(path: string, createdAt?: string): Promise<LmdbDisk> {
  await makeDirectories(dirname(path), 0o700);
  const found = await prepareDatabaseFile(path);
  if (found !== "present" && createdAt === undefined) throw storeLost(path, found);
  // LMDB does not open a file of zeros.
  if (found === "empty") await rm(path);
  // LMDB creates files that everybody may read.
  await ensurePrivateFile(path);
  await ensurePrivateFile(`${path}-lock`);
  const tables = await openTables(path).catch((thrown: unknown) => {
    throw readFailure(thrown);
  });
  try {
    if (tables.meta.get(metaKeys.format) === undefined) {
      if (createdAt === undefined) throw storeLost(path, "foreign");
      await initialise(tables, createdAt);
      // Keys and redo log are created later: a directory that has them has had a store.
      await flush(dirname(path));
      await flush(dirname(dirname(path)));
    }
    return new LmdbDisk(path, tables, readMeta(tables.meta), await FileReserve.open(path));
  } catch (thrown) {
    await tables.env.close();
    throw readFailure(thrown);
  }
}

// Imported on use: loading LMDB takes tens of milliseconds.
async function openTables(path: string): Promise<Tables> {
  const { open } = await import("lmdb");
  const env = open<Buffer, Buffer>({
    ...binary,
    path,
    noSubdir: true,
    // With overlapping flushes a commit is visible before it is durable, and stays visible when the flush fails.
    overlappingSync: false,
    // The store makes the batches itself.
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
    // Without a checksum, so that programs with other formats can read it.
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

/** The tables. Every change is a transaction of its own; the redo log groups many changes into one. */
export class LmdbDisk implements Disk {
  readonly #path: string;
  #tables: Tables;
  #meta: DiskMeta;
  /** Undefined until the whole log has been read. */
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

  /** The redo segment to replay first; undefined when the tables have everything. */
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

  /** Builds the index for compactions in the same pass. */
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

  /** Copied, because these stay in memory. */
  *system(): Generator<readonly [string, Buffer]> {
    for (const { key, value } of rows(this.#tables.sys)) {
      const name = key.toString("utf8");
      yield [name, Buffer.from(openRow(key, value) ?? refuse(damage(`system record ${JSON.stringify(name)}`)))];
    }
  }

  /** Frees mapped pages by reopening. Only backups may run meanwhile. Rejects with `TablesLostError`. */
  async releasePages(): Promise<void> {
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

  /** Commits what the redo log holds. `redo` is the segment from which a start has to replay what follows, if any. */
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
    // Revisions only grow: appending fills pages to the end, which saves a fifth of a commit's time.
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

  /** One transaction: all of the step or nothing. */
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

  probe(): Promise<void> {
    const { meta } = this.#tables;
    this.#probes++;
    return this.#commit([sealed(meta, metaKeys.probe, encodeRevision(this.#probes))]);
  }

  onFailure(): void {}

  figures(): DiskFigures {
    return { redoBytes: 0, checkpoints: 0 };
  }

  /** Sets the revision and drops the log, so that older revisions list again. Not while serving. */
  raiseRevision(revision: number): Promise<void> {
    const { meta, log } = this.#tables;
    const changes = Array.from(rows(log), ({ key }) => remove(log, key));
    changes.push(sealed(meta, metaKeys.revision, encodeRevision(revision)));
    changes.push(sealed(meta, metaKeys.compacted, encodeRevision(revision)));
    return this.#commit(changes);
  }

  /** LMDB reports EIO for partial writes, mostly of a full disk. The free space shows which it is. */
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

  /** Replaces objects and records in one transaction. Not while the store serves. */
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

  /** A consistent, compacted copy. It still needs the current redo log. */
  async copyTo(file: string): Promise<void> {
    // Counted first, so that nothing is reopened from here on.
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

/** Where the last used page ends. LMDB's types lack what `getStats` returns. */
function usedBytes(env: Tables["env"]): number {
  const stats: { readonly lastPageNumber?: unknown } = env.getStats();
  if (typeof stats.lastPageNumber !== "number")
    throw new Error("the database library does not say which page is its last");
  return (stats.lastPageNumber + 1) * pageBytes;
}

/** For the root pages of all tables, the pages between roots and leaves, and the list of free pages. */
const roomForEach = 64 * pageBytes;

/** Upper bound in bytes: each change copies and may split a leaf, and large values have pages of their own. */
function roomFor(changes: readonly Change[]): number {
  let pages = 0;
  for (const { value } of changes) pages += 2 + Math.ceil((value?.length ?? 0) / pageBytes);
  return roomForEach + pages * pageBytes;
}

interface Change {
  readonly table: Table;
  readonly key: Buffer;
  readonly value: Buffer | undefined;
  readonly append: boolean;
}

const put = (table: Table, key: Buffer, value: Buffer): Change => ({ table, key, value, append: false });
const sealed = (table: Table, key: Buffer, value: Buffer): Change => put(table, key, sealRow(key, value));
const remove = (table: Table, key: Buffer): Change => ({ table, key, value: undefined, append: false });
const appended = { append: true } as const;

/** One flushed transaction in LMDB's writer thread, which is a fifth faster than `transaction(callback)` here. */
async function commitWhole(env: Tables["env"], changes: readonly Change[]): Promise<void> {
  try {
    await env.batch(() => {
      let handled: Promise<boolean> | undefined;
      for (const { table, key, value, append } of changes) {
        const outcome =
          value === undefined ? table.remove(key) : append ? table.put(key, value, appended) : table.put(key, value);
        // Most changes of a batch share one promise.
        if (outcome !== handled) outcome.catch(ignore);
        handled = outcome;
      }
    });
  } catch (thrown) {
    throw await commitCause(thrown);
  }
}

/** Less than a commit takes. */
const leastRoom = 1_048_576;

const isIoError = (thrown: unknown): boolean =>
  codeOf(thrown) === "EIO" ||
  (typeof thrown === "object" && thrown !== null && "code" in thrown && thrown.code === 5) ||
  /input\/output error/i.test(messageOf(thrown));

async function isWithoutRoom(directory: string): Promise<boolean> {
  const room = await statfs(directory).catch(() => undefined);
  return room !== undefined && room.bavail * room.bsize < leastRoom;
}

const noSpaceLeft = (cause: unknown): Error =>
  Object.assign(new Error("no space left on device: a write was cut short", { cause }), { code: "ENOSPC" });

// Each put has its own promise besides the batch's; they fail together, and the batch's is awaited.
const ignore = (): void => undefined;

/** A snapshot: LMDB reads a range in one transaction. */
function* rows(table: Table): Generator<Row> {
  for (const { key, value } of table.getRange({})) yield { key: asBuffer(key), value };
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** A failed commit hides its cause behind a second promise, which nothing else handles. */
async function commitCause(thrown: unknown): Promise<unknown> {
  if (typeof thrown !== "object" || thrown === null || !("commitError" in thrown)) return thrown;
  try {
    await thrown.commitError;
    return thrown;
  } catch (cause) {
    return cause;
  }
}

/** Copies a database that another process may be using. Reads only. */
export async function copyDatabase(path: string, file: string): Promise<void> {
  const { open } = await import("lmdb");
  const env = open<Buffer, Buffer>({ ...binary, path, noSubdir: true, readOnly: true, maxDbs: 8 });
  try {
    await env.backup(file, true);
  } finally {
    await env.close();
  }
}

function latestOf(writes: readonly DiskWrite[]): Iterable<DiskWrite> {
  if (writes.length < 2) return writes;
  const latest = new Map<string, DiskWrite>();
  for (const write of writes) latest.set(recordKey(write.record).toString("latin1"), write);
  return latest.values();
}
