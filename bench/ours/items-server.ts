import { createStaticToken } from "#kernel/apiserver/index.ts";
import { longestHold } from "../harness/loop-delay.ts";
import { atRate, type PacedLoad, type PacedWrites } from "../harness/open-loop.ts";
import { objectName } from "../floors/load.ts";
import {
  type Endpoint,
  fillItems,
  Item,
  itemOf,
  type ItemsServer,
  listenItems,
  namespace,
  openItems,
} from "./items.ts";

// An API server with items, for load from another process; and lists in this process.

let server: ItemsServer | undefined;

export interface StartOptions {
  readonly dir: string;
  readonly count: number;
  readonly bytes: number;
}

export async function start({ dir, count, bytes }: StartOptions): Promise<Endpoint & { readonly revisions: string[] }> {
  server = await openItems(dir);
  const revisions = await fillItems(server.client, count, bytes);
  return { ...(await listenItems(server, dir)), revisions };
}

/** Tokens of as many users who may do everything. */
export async function users({ count }: { readonly count: number }): Promise<readonly string[]> {
  if (server === undefined) throw new Error("not started");
  const tokens: string[] = [];
  for (let at = 0; at < count; at++)
    tokens.push(await createStaticToken(server.store, `user-${at}`, ["system:masters"]));
  return tokens;
}

export const held = (): number => longestHold();

const inFlight = 10;
let paced = 0;

/** Updates the first objects for `ms`, ten at once; answers how many updates there were. */
export async function churn({ ms, bytes }: { readonly ms: number; readonly bytes: number }): Promise<number> {
  if (server === undefined) throw new Error("not started");
  const { client } = server;
  const end = performance.now() + ms;
  let updates = 0;
  const write = async (index: number): Promise<void> => {
    const { metadata } = await client.get<Item>({ type: Item, namespace, name: objectName(index) });
    let { resourceVersion } = metadata;
    do {
      const item = itemOf(index, ++updates, bytes);
      const next = { ...item, metadata: { ...item.metadata, resourceVersion } };
      ({ resourceVersion } = (await client.update<Item>(Item, next)).metadata);
    } while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: inFlight }, (_, index) => write(index)));
  return updates;
}

/** Updates the first objects at a fixed rate for `ms`; the n-th update of all sets `count` to n. */
export async function pace({ ms, perSecond }: PacedLoad): Promise<PacedWrites> {
  if (server === undefined) throw new Error("not started");
  const { client } = server;
  const first = paced + 1;
  const figures = await atRate({ ms, perSecond }, () => {
    const body = { spec: { count: ++paced } };
    const name = objectName(paced % inFlight);
    return client.patch({ type: Item, namespace, name }, { type: "merge", body });
  });
  return { first, ...figures };
}

/** Lists everything through the client of this process for `ms`. */
export async function list({ ms, expected }: { readonly ms: number; readonly expected: number }) {
  if (server === undefined) throw new Error("not started");
  const cpu = process.cpuUsage();
  const start = performance.now();
  let ops = 0;
  do {
    const { items } = await server.client.list<Item>(Item, { namespace });
    if (items.length !== expected) throw new Error(`${items.length} of ${expected} items`);
    ops++;
  } while (performance.now() - start < ms);
  const { user, system } = process.cpuUsage(cpu);
  return { ops, ms: performance.now() - start, cpuUs: user + system };
}
