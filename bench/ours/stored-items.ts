import { settledBytes } from "../harness/memory.ts";
import { type Item, itemOf, Item as ItemKind, openItems } from "./items.ts";

// P8, P9: a store with many objects, filled by one process and opened by others.

const perTurn = 5000;

interface Filled {
  readonly dir: string;
  readonly count: number;
  readonly bytes: number;
}

export const fill = async (filled: Filled): Promise<void> => void (await run(filled));

/** Writes the objects; answers what the process holds more afterwards. */
export async function run({ dir, count, bytes }: Filled) {
  const { client, close } = await openItems(dir);
  const cpu = process.cpuUsage();
  const start = performance.now();
  const before = settledBytes();
  for (let from = 0; from < count; from += perTurn) {
    const many = Array.from({ length: Math.min(perTurn, count - from) }, (_, index) => itemOf(from + index, 0, bytes));
    await Promise.all(many.map((item) => client.create<Item>(ItemKind, item)));
  }
  const rssBytes = settledBytes() - before;
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  await close();
  return { ops: count, ms, cpuUs: user + system, rssBytes };
}

/** Opens the store and counts its objects; it stays open until the process ends. */
export async function open({ dir, count }: { readonly dir: string; readonly count: number }) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const { store } = await openItems(dir);
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  const found = store.count({ group: ItemKind.group, resource: ItemKind.plural });
  if (found !== count) throw new Error(`${found} of ${count} objects are there`);
  return { ops: 1, ms, cpuUs: user + system };
}
