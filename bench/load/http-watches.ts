import { awaitDeliveries } from "./deliveries.ts";
import { monotonicMs, type PacedWrites } from "../harness/open-loop.ts";
import { quantile } from "../harness/statistics.ts";
import { HttpConnection, requestHead } from "./http-connection.ts";
import type { Endpoint } from "../ours/items.ts";

// B4, P6, P7: watchers of one collection, each on a connection of its own. Every one of them sees to it that revisions rise and that none of
// the window's events is missing.

const revisionMark = Buffer.from('"resourceVersion":"');
const zero = 0x30;

const countMark = Buffer.from('"count":');

interface Delivery {
  /** The object's count, which numbers the writes of a paced load. */
  readonly count: number;
  readonly at: number;
}

const state: { delivered: number; failure: Error | undefined; noted: Delivery[] | undefined } = {
  delivered: 0,
  failure: undefined,
  noted: undefined,
};

/** Watchers take turns with the tokens: one user may have so many watches and no more. */
export async function connect({
  watchers,
  path,
  tokens,
  ...endpoint
}: Endpoint & {
  readonly watchers: number;
  readonly path: string;
  readonly tokens: readonly string[];
}): Promise<void> {
  const open: HttpConnection[] = [];
  // One after the other: a thousand handshakes at once would be another benchmark.
  for (let at = 0; at < watchers; at++) open.push(await HttpConnection.open(endpoint));
  for (const [at, connection] of open.entries()) {
    follow(connection, tokens[at % tokens.length] ?? "", path).catch((thrown: Error) => (state.failure ??= thrown));
  }
}

async function follow(connection: HttpConnection, token: string, path: string): Promise<void> {
  const headers = token === "" ? {} : { Authorization: `Bearer ${token}` };
  let last = 0;
  for await (const line of connection.lines(requestHead("GET", path, headers))) {
    const revision = numberAfter(line, revisionMark);
    if (!(revision > last)) throw new Error(`revision ${revision} came after ${last}`);
    last = revision;
    state.noted?.push({ count: numberAfter(line, countMark), at: monotonicMs() });
    state.delivered++;
  }
}

/** The whole number behind the first `mark`; NaN without one. Read from the bytes: this is done for each event of each watcher. */
function numberAfter(line: Buffer, mark: Buffer): number {
  const start = line.indexOf(mark);
  if (start < 0) return NaN;
  let value = 0;
  for (let at = start + mark.length; ; at++) {
    const digit = (line[at] ?? 0) - zero;
    if (!(digit >= 0 && digit <= 9)) return value;
    value = value * 10 + digit;
  }
}

/** Waits until `expected` events have been delivered in all since the last call. */
export const delivery = ({ expected }: { readonly expected: number }): Promise<void> =>
  awaitDeliveries(state, expected);

/** From now on the time of each delivery is noted. */
export function note(): void {
  state.noted = [];
}

/** How long after the moment at which its write was due each event was delivered. Ends the noting. */
export function latencies({ first, startMs, perSecond }: PacedWrites & { readonly perSecond: number }) {
  const noted = state.noted ?? [];
  state.noted = undefined;
  if (noted.some(({ count }) => !(count >= first))) throw new Error(`an event does not tell which write it is of`);
  const took = noted.map(({ count, at }) => at - startMs - ((count - first) * 1000) / perSecond).sort((a, b) => a - b);
  return { p50: quantile(took, 0.5), p99: quantile(took, 0.99) };
}
