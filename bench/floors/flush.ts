import { open } from "node:fs/promises";
import { join } from "node:path";
import type { Measured } from "../harness/types.ts";
import { closedLoop, type ClosedLoad } from "../harness/closed-loop.ts";

// Floor of one durable write after the other: as many bytes, written over preallocated ones, and a flush.

const recordBytes = 1_200;
const records = 4_096;

export async function run({ dir, ...load }: ClosedLoad & { readonly dir: string }): Promise<Measured> {
  const file = await open(join(dir, "floor.log"), "w+");
  await file.write(Buffer.alloc(recordBytes * records));
  await file.datasync();
  const cpu = process.cpuUsage();
  const figures = await closedLoop(load, async (id) => {
    await file.write(recordOf(id), 0, recordBytes, (id % records) * recordBytes);
    await file.datasync();
  });
  const { user, system } = process.cpuUsage(cpu);
  const last = figures.ops - 1;
  const { buffer } = await file.read(Buffer.alloc(recordBytes), 0, recordBytes, (last % records) * recordBytes);
  await file.close();
  if (!buffer.equals(recordOf(last))) throw new Error(`record ${last} is not in the file`);
  return { ...figures, cpuUs: user + system };
}

const recordOf = (id: number): Buffer => Buffer.alloc(recordBytes, `${id} `);
