import { join } from "node:path";
import { open } from "lmdb";
import { drive, groupCommit, objectName, objects, sequence, type Window, type WriteLoad } from "./load.ts";

// Floor of a durable write: LMDB and nothing else. No JSON, no revisions in objects, no events, no indexes, no reads. Per
// write one object of 1 KB, one log record with the object in it, and per commit the revision; one flush per group.

const binary = { encoding: "binary", keyEncoding: "binary" } as const;

export async function run(load: WriteLoad): Promise<Window> {
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
  const keys = Array.from({ length: objects }, (_, index) =>
    Buffer.from(`bench\0items\0default\0${objectName(index)}`),
  );
  const value = Buffer.alloc(1_024, "x");
  const record = Buffer.alloc(1_090, "x");
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
  await fill(keys, write);
  const before = revision;
  const next = sequence(objects);
  const window = await drive(load, () => write(keys[next()] ?? value));
  const stored = meta.get(Buffer.from("revision"))?.readUInt32BE(4);
  if (stored !== revision || revision - before !== window.ops)
    throw new Error(`${window.ops} writes, revision ${stored}`);
  await env.close();
  return window;
}

async function fill(keys: readonly Buffer[], write: (key: Buffer) => Promise<void>): Promise<void> {
  await Promise.all(keys.map(write));
}

function encode(revision: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(revision, 4);
  return bytes;
}
