import { fdatasync, open, read, write as writeFile } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { drive, groupCommit, type Window, type WriteLoad } from "./load.ts";

// Floor of durability itself: an append-only log, preallocated and zeroed because a growing file flushes half as fast. One
// write and one fdatasync per group. Nobody could read an object out of it.

const segmentBytes = 64 * 2 ** 20;
const recordBytes = 1_090;

const [openAsync, writeAsync, syncAsync, readAsync] = [
  promisify(open),
  promisify(writeFile),
  promisify(fdatasync),
  promisify(read),
];

export async function run(load: WriteLoad): Promise<Window> {
  const file = await openAsync(join(load.dir, "floor.log"), "w+");
  await writeAsync(file, Buffer.alloc(segmentBytes), 0, segmentBytes, 0);
  await syncAsync(file);
  const record = Buffer.alloc(recordBytes, "x");
  let [position, written] = [0, 0];
  const write = groupCommit<Buffer>(async (batch) => {
    const bytes = Buffer.concat(batch);
    if (position + bytes.length > segmentBytes) position = 0;
    await writeAsync(file, bytes, 0, bytes.length, position);
    await syncAsync(file);
    position += bytes.length;
    written += batch.length;
  });
  const window = await drive(load, () => write(record));
  const { buffer } = await readAsync(file, Buffer.alloc(recordBytes), 0, recordBytes, 0);
  if (written !== window.ops || !buffer.equals(record)) throw new Error(`${window.ops} writes, ${written} in the log`);
  return window;
}
