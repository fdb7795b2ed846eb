import { randomUUID } from "node:crypto";
import { mkdir, open as openFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { RootDatabase } from "lmdb";
import {
  type DecodedRecord,
  type DecodedValue,
  decodeKey,
  decodeRecord,
  decodeValue,
  encodeRevision,
  readRevision,
  recordKey,
  recordValue,
} from "./codec.ts";
import type { CommitBatch, Disk, DiskMeta } from "./disk.ts";
import { storeCorrupt, storeFormat } from "./errors.ts";
import type { StoreKey } from "./store.ts";

/** The database's file within a data directory. A backup is such a file. */
export const storeFile = "store.mdb";
const format = "1";

const binary = { encoding: "binary", keyEncoding: "binary" } as const;

/** What is used of a table. The library's own types lack `put`'s third argument. */
interface Table {
  get(key: Buffer): Buffer | undefined;
  getRange(options: object): Iterable<{ readonly key: Uint8Array; readonly value: Uint8Array }>;
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
} as const;

interface Tables {
  readonly env: RootDatabase<Buffer, Buffer>;
  readonly meta: Table;
  readonly obj: Table;
  readonly log: Table;
  readonly sys: Table;
}

/**
 * Opens or creates the database of a data directory. `createdAt` is written once, into a new one. The caller holds the
 * directory's lock.
 */
export async function openLmdb(directory: string, createdAt: string): Promise<Disk> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const tables = await openTables(join(directory, storeFile));
  try {
    if (tables.meta.get(metaKeys.format) === undefined) await initialise(tables, createdAt);
    return new LmdbDisk(tables, readMeta(tables.meta));
  } catch (thrown) {
    await tables.env.close();
    throw thrown;
  }
}

// Imported on use: loading the library takes tens of milliseconds that commands without a store need not pay.
async function openTables(path: string): Promise<Tables> {
  const { open } = await import("lmdb");
  const env = open<Buffer, Buffer>({
    ...binary,
    path,
    // With overlapping flushes a commit is visible to readers before it is durable, and stays so when the flush fails.
    overlappingSync: false,
    // Batches are begun by the store, at the end of a turn; the library need not wait for another.
    eventTurnBatching: false,
    compression: false,
    maxDbs: 8,
    pageSize: 4096,
  });
  const table = (name: string): Table => env.openDB<Buffer, Buffer>(name, binary);
  return { env, meta: table("meta"), obj: table("obj"), log: table("log"), sys: table("sys") };
}

async function initialise({ env, meta }: Tables, createdAt: string): Promise<void> {
  await commitWhole(env, [
    put(meta, metaKeys.clusterUid, Buffer.from(randomUUID())),
    put(meta, metaKeys.createdAt, Buffer.from(createdAt)),
    put(meta, metaKeys.revision, encodeRevision(0)),
    put(meta, metaKeys.compacted, encodeRevision(0)),
    put(meta, metaKeys.format, Buffer.from(format)),
  ]);
}

function readMeta(meta: Table): DiskMeta {
  const text = (key: Buffer): string | undefined => meta.get(key)?.toString("utf8");
  const number = (key: Buffer, name: string): number => {
    const bytes = meta.get(key);
    if (bytes?.length !== 8) throw storeCorrupt(`meta.${name} is missing`);
    return readRevision(bytes, 0);
  };
  const found = text(metaKeys.format);
  if (found !== format) throw storeFormat(JSON.stringify(found));
  const clusterUid = text(metaKeys.clusterUid);
  if (clusterUid === undefined) throw storeCorrupt("meta.clusterUID is missing");
  return {
    clusterUid,
    revision: number(metaKeys.revision, "revision"),
    compacted: number(metaKeys.compacted, "compacted"),
  };
}

class LmdbDisk implements Disk {
  readonly meta: DiskMeta;
  readonly #tables: Tables;
  #probes = 0;

  constructor(tables: Tables, meta: DiskMeta) {
    this.#tables = tables;
    this.meta = meta;
  }

  *objects(): Generator<{ readonly key: StoreKey; readonly value: DecodedValue }> {
    for (const { key, value } of this.#tables.obj.getRange({})) {
      yield { key: decodeKey(asBuffer(key)), value: decodeValue(asBuffer(value)) };
    }
  }

  *records(): Generator<{ readonly revision: number; readonly record: DecodedRecord }> {
    for (const { key, value } of this.#tables.log.getRange({})) {
      yield { revision: readRevision(asBuffer(key), 0), record: decodeRecord(asBuffer(value)) };
    }
  }

  *system(): Generator<readonly [string, Buffer]> {
    for (const { key, value } of this.#tables.sys.getRange({})) yield [asBuffer(key).toString("utf8"), asBuffer(value)];
  }

  commit(batch: CommitBatch): Promise<void> {
    const { env, meta, obj, log, sys } = this.#tables;
    const changes: Change[] = [];
    for (const { revision, deletes, record, inlined } of batch.writes) {
      const key = recordKey(record);
      changes.push(deletes ? remove(obj, key) : put(obj, key, recordValue(record)));
      // Revisions only grow: appending fills pages to the end, which is a fifth of a commit's time.
      changes.push({ table: log, key: encodeRevision(revision), value: inlined ?? record.bytes, append: true });
    }
    for (const { key, value } of batch.system) {
      changes.push(value === undefined ? remove(sys, Buffer.from(key)) : put(sys, Buffer.from(key), value));
    }
    if (batch.writes.length > 0) changes.push(put(meta, metaKeys.revision, encodeRevision(batch.revision)));
    return commitWhole(env, changes);
  }

  compact(compacted: number, drop: readonly number[]): Promise<void> {
    const { env, meta, log } = this.#tables;
    const changes = drop.map((revision) => remove(log, encodeRevision(revision)));
    changes.push(put(meta, metaKeys.compacted, encodeRevision(compacted)));
    return commitWhole(env, changes);
  }

  probe(): Promise<void> {
    const { env, meta } = this.#tables;
    this.#probes++;
    return commitWhole(env, [put(meta, metaKeys.probe, encodeRevision(this.#probes))]);
  }

  /** Written beside its place first, so that `file` is either a whole copy or not there. */
  async backup(file: string): Promise<void> {
    const unfinished = `${file}.unfinished`;
    await rm(unfinished, { force: true });
    await this.#tables.env.backup(unfinished, true);
    await flush(unfinished);
    await rename(unfinished, file);
    await flush(dirname(file));
  }

  async close(): Promise<void> {
    await this.#tables.env.close();
  }
}

interface Change {
  readonly table: Table;
  readonly key: Buffer;
  /** Absent: the key is removed. */
  readonly value: Buffer | undefined;
  readonly append: boolean;
}

const put = (table: Table, key: Buffer, value: Buffer): Change => ({ table, key, value, append: false });
const remove = (table: Table, key: Buffer): Change => ({ table, key, value: undefined, append: false });
const appended = { append: true } as const;

/**
 * Commits all changes in one transaction and resolves after the flush. The transaction runs in the library's writer thread,
 * so that this thread goes on serving: its `transaction(callback)` would run every put here and needs two thread switches
 * more, 1.8 ms instead of 0.7 for a single write. Both were tested with failing writes and failing flushes: rejected, and
 * nothing visible.
 */
async function commitWhole(env: Tables["env"], changes: readonly Change[]): Promise<void> {
  try {
    await env.batch(() => {
      for (const { table, key, value, append } of changes) {
        if (value === undefined) void table.remove(key).catch(ignore);
        else if (append) void table.put(key, value, appended).catch(ignore);
        else void table.put(key, value).catch(ignore);
      }
    });
  } catch (thrown) {
    throw await commitCause(thrown);
  }
}

// Each put has a promise of its own besides the batch's; they fail together, and the batch's is the one that is awaited.
const ignore = (): void => undefined;

/**
 * What LMDB gives as keys and values are byte arrays of their own, not always Buffers.
 */
const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

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

async function flush(path: string): Promise<void> {
  const file = await openFile(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
