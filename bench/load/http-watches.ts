import { HttpConnection, requestHead } from "./http-connection.ts";
import type { Endpoint } from "../ours/items.ts";

// B4: watchers of one collection, each on a connection of its own. Every one of them sees to it that revisions rise and that none of
// the window's events is missing.

const revisionMark = Buffer.from('"resourceVersion":"');
const quote = 0x22;

const state: { delivered: number; failure: Error | undefined } = { delivered: 0, failure: undefined };

export async function connect({
  watchers,
  path,
  ...endpoint
}: Endpoint & { readonly watchers: number; readonly path: string }): Promise<void> {
  const open: HttpConnection[] = [];
  // One after the other: a thousand handshakes at once would be another benchmark.
  for (let at = 0; at < watchers; at++) open.push(await HttpConnection.open(endpoint));
  for (const connection of open) {
    follow(connection, endpoint.token, path).catch((thrown: Error) => (state.failure ??= thrown));
  }
}

async function follow(connection: HttpConnection, token: string, path: string): Promise<void> {
  const headers = token === "" ? {} : { Authorization: `Bearer ${token}` };
  let last = 0;
  for await (const line of connection.lines(requestHead("GET", path, headers))) {
    const at = line.indexOf(revisionMark) + revisionMark.length;
    const revision = Number(line.toString("latin1", at, line.indexOf(quote, at)));
    if (!(revision > last)) throw new Error(`revision ${revision} came after ${last}`);
    last = revision;
    state.delivered++;
  }
}

/** Waits until `expected` events have been delivered in all since the last call. */
export async function delivery({ expected }: { readonly expected: number }): Promise<void> {
  const end = performance.now() + 60_000;
  while (state.delivered < expected) {
    if (state.failure !== undefined) throw state.failure;
    if (performance.now() > end) throw new Error(`${state.delivered} of ${expected} events were delivered`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  if (state.delivered > expected) throw new Error(`${state.delivered} events were delivered, ${expected} expected`);
  state.delivered = 0;
}
