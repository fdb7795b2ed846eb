import { drive, objects, sequence, type Window, type WriteLoad } from "../floors/load.ts";
import { fillItems, Item, itemOf, namespace, openItems } from "./items.ts";

// B3b: updates of 10,000 existing custom resources of 1 KB with a schema, bound to the resourceVersion that was read, through
// the client of this process. Checked by reading everything back after opening the store again.

const bytes = 1024;

export async function run(load: WriteLoad): Promise<Window> {
  const { client, close } = await openItems(load.dir);
  const revisions = await fillItems(client, objects, bytes);
  const counts = new Uint32Array(objects);
  const next = sequence(objects);
  // A caller has its own objects: two that meet at one would be told of a conflict.
  const perCaller = Math.floor(objects / load.inFlight);
  const window = await drive(load, async (caller) => {
    const index = caller * perCaller + (next() % perCaller);
    const count = (counts[index] ?? 0) + 1;
    counts[index] = count;
    const item = itemOf(index, count, bytes);
    const resourceVersion = revisions[index] ?? "";
    const stored = await client.update<Item>(Item, { ...item, metadata: { ...item.metadata, resourceVersion } });
    revisions[index] = stored.metadata.resourceVersion;
  });
  await close();
  await check(load.dir, counts, revisions);
  return window;
}

async function check(dir: string, counts: Uint32Array, revisions: readonly string[]): Promise<void> {
  const { client, close } = await openItems(dir);
  const { items } = await client.list<Item>(Item, { namespace });
  if (items.length !== counts.length) throw new Error(`${counts.length} items were written, ${items.length} are there`);
  for (const [index, { metadata, spec }] of items.entries()) {
    if (spec?.count !== counts[index] || metadata.resourceVersion !== revisions[index])
      throw new Error(`${metadata.name} has count ${spec?.count}, ${counts[index]} was acknowledged`);
  }
  await close();
}
