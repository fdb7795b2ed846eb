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

export async function run({ bytes = 1_024, creates = false, ...load }: LmdbLoad): Promise<Window> {
  const env = open<Buffer, Buffer>({
    ...binary,
    path: join(load.dir, "floor.mdb"),
    overlappingSync: false,
    compression: false,
    maxDbs: 8,
    pageSize: 4096,
  });
  const [obj, log, meta] = ["obj", "log", "meta"].map((name) => env.openDB<Buffer, Buffer>(name, binary));
  if (obj === undefined || log === undefined || meta === undefined) throw new Error("a table did not open");
  const value = Buffer.alloc(bytes, "x");
  const record = Buffer.alloc(bytes + 66, "x");
  let revision = 0;
  const write = groupCommit<Buffer>(async (batch) => {
    await env.transaction(() => {
      for (const key of batch) {
        void obj.put(key, value);
        log.putSync(encode(++revision), record, { append: true });
      }
      void meta.put(Buffer.from("revision"), encode(revision));
    });
  });
  const keys = Array.from({ length: creates ? 0 : objects }, (_, index) => keyOf(index));
  await Promise.all(keys.map(write));
  const before = revision;
  const next = sequence(objects);
  let created = 0;
  const window = await drive(load, () => write(creates ? keyOf(created++) : (keys[next()] ?? value)));
  const stored = meta.get(Buffer.from("revision"))?.readUInt32BE(4);
  if (stored !== revision || revision - before !== window.ops)
    throw new Error(`${window.ops} writes, revision ${stored}`);
  await env.close();
  return window;
}

const keyOf = (index: number): Buffer => Buffer.from(`bench\0items\0default\0${objectName(index)}`);

function encode(revision: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(revision, 4);
  return bytes;
}
