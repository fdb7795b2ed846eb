import { join } from "node:path";
import { open } from "lmdb";
import { drive, groupCommit, objectName, objects, sequence, type Window, type WriteLoad } from "./load.ts";

// Floor of a durable write: LMDB and nothing else. No JSON, no revisions in objects, no events, no indexes, no reads. Per
// write one object, one log record with the object in it, and per commit the revision; one flush per group. Writes go to
// 10,000 objects at random, or each to a new one.

interface LmdbLoad extends WriteLoad {
  /** Of an object; 1 KB unless told. */
  readonly bytes?: number;
  readonly creates?: boolean;
}

const binary = { encoding: "binary", keyEncoding: "binary" } as const;

/** One object as it is stored, beside the record of its change. */
export interface Row {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly record: Buffer;
}

/** The tables of a bare store. `commit` resolves when all rows and the revision they lead to are on the disk. */
export function openTables(path: string) {
  const env = open<Buffer, Buffer>({
    ...binary,
    path,
    overlappingSync: false,
    compression: false,
    maxDbs: 8,
    pageSize: 4096,
  });
  const [obj, log, meta] = ["obj", "log", "meta"].map((name) => env.openDB<Buffer, Buffer>(name, binary));
  if (obj === undefined || log === undefined || meta === undefined) throw new Error("a table did not open");
  let revision = 0;
  return {
    revision: () => revision,
    /** As it is stored. */
    storedRevision: () => meta.get(Buffer.from("revision"))?.readUInt32BE(4),
    async commit(rows: readonly Row[]): Promise<void> {
      await env.transaction(() => {
        for (const { key, value, record } of rows) {
          void obj.put(key, value);
          log.putSync(encode(++revision), record, { append: true });
        }
        void meta.put(Buffer.from("revision"), encode(revision));
      });
    },
    close: () => env.close(),
  };
}

export async function run({ bytes = 1_024, creates = false, ...load }: LmdbLoad): Promise<Window> {
  const tables = openTables(join(load.dir, "floor.mdb"));
  const value = Buffer.alloc(bytes, "x");
  const record = Buffer.alloc(bytes + recordHeadBytes, "x");
  const commit = groupCommit<Row>((rows) => tables.commit(rows));
  const write = (key: Buffer) => commit({ key, value, record });
  const keys = Array.from({ length: creates ? 0 : objects }, (_, index) => keyOf(objectName(index)));
  await Promise.all(keys.map(write));
  const before = tables.revision();
  const next = sequence(objects);
  let created = 0;
  const window = await drive(load, () => write(creates ? keyOf(objectName(created++)) : (keys[next()] ?? value)));
  const [revision, stored] = [tables.revision(), tables.storedRevision()];
  if (stored !== revision || revision - before !== window.ops)
    throw new Error(`${window.ops} writes, revision ${stored}`);
  await tables.close();
  return window;
}

/** What a record of the log says beside the object: type, revisions, key. */
export const recordHeadBytes = 66;

export const keyOf = (name: string): Buffer => Buffer.from(`bench\0items\0default\0${name}`);

function encode(revision: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(revision, 4);
  return bytes;
}
