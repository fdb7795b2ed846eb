import { join } from "node:path";
import { open as openLmdb } from "lmdb";
import { settledBytes } from "../harness/memory.ts";
import { itemOf } from "../ours/items.ts";

// Floor of a start with many objects, and of what they take: a database of their texts, each of which is read into a map by its key.

interface Filled {
  readonly dir: string;
  readonly count: number;
  readonly bytes?: number;
}

const openAt = (dir: string) => openLmdb<Buffer, string>({ path: join(dir, "floor.mdb"), encoding: "binary" });

export async function fill({ dir, count, bytes = 0 }: Filled): Promise<void> {
  const env = openAt(dir);
  await env.transaction(() => {
    for (let index = 0; index < count; index++)
      void env.put(`default/item-${index}`, Buffer.from(JSON.stringify(itemOf(index, 0, bytes))));
  });
  await env.close();
}

/** Writes the texts and keeps them; answers what the process holds more afterwards. */
export async function run(filled: Filled) {
  const before = settledBytes();
  await fill(filled);
  return { ...open(filled), rssBytes: settledBytes() - before };
}

/** What was read stays until the process ends. */
export function open({ dir, count }: Filled) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  // A copy each: what the database hands out is its own memory.
  for (const { key, value } of openAt(dir).getRange()) kept.set(key, Buffer.from(value));
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  if (kept.size !== count) throw new Error(`${kept.size} of ${count} objects are there`);
  return { ops: 1, ms, cpuUs: user + system };
}

const kept = new Map<string, Buffer>();
