import { drive, objectName, type Window, type WriteLoad } from "../floors/load.ts";
import { Item, itemOf, namespace, openItems } from "./items.ts";

// P1: new custom resources of 1.2 KB with a schema, through the client of this process. Checked by reading all of them back
// after opening the store again.

const bytes = 1_200;

export async function run(load: WriteLoad): Promise<Window> {
  const { client, close } = await openItems(load.dir);
  let count = 0;
  const window = await drive(load, () => {
    const index = count++;
    return client.create<Item>(Item, itemOf(index, index, bytes));
  });
  await close();
  await check(load.dir, window.ops);
  return window;
}

async function check(dir: string, created: number): Promise<void> {
  const { client, close } = await openItems(dir);
  const { items } = await client.list<Item>(Item, { namespace });
  const counts = new Map(items.map(({ metadata, spec }) => [metadata.name, spec?.count]));
  for (let index = 0; index < created; index++) {
    if (counts.get(objectName(index)) !== index)
      throw new Error(`${objectName(index)} was acknowledged and is not there`);
  }
  if (counts.size !== created) throw new Error(`${created} items were created, ${counts.size} are there`);
  await close();
}
