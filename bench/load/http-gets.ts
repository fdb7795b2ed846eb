import { objectName, objects, sequence } from "../floors/load.ts";
import { type ClosedFigures, closedLoop } from "../harness/closed-loop.ts";
import { itemsPath } from "../ours/items.ts";
import { HttpConnection, requestHead, type Target } from "./http-connection.ts";

// B3: GETs of single items at random over keep-alive connections.

interface Connected {
  readonly connections: readonly HttpConnection[];
  readonly requests: readonly string[];
  readonly next: () => number;
}

let connected: Connected | undefined;

export interface ConnectOptions extends Target {
  readonly token: string;
  readonly connections: number;
}

export async function connect({ token, connections, ...target }: ConnectOptions): Promise<void> {
  const open = Array.from({ length: connections }, () => HttpConnection.open(target));
  const headers = { Authorization: `Bearer ${token}` };
  connected = {
    connections: await Promise.all(open),
    requests: Array.from({ length: objects }, (_, index) =>
      requestHead("GET", `${itemsPath}/${objectName(index)}`, headers),
    ),
    next: sequence(objects),
  };
}

export async function run({ ms }: { readonly ms: number }): Promise<ClosedFigures> {
  const state = connected;
  if (state === undefined) throw new Error("not connected");
  const { connections, requests, next } = state;
  return await closedLoop({ ms, inFlight: connections.length }, async (_id, caller) => {
    const index = next();
    const answer = await connections[caller]?.send(requests[index] ?? "");
    if (answer?.status !== 200 || !answer.body.includes(`"name":"${objectName(index)}"`))
      throw new Error(`GET of ${objectName(index)} was answered with ${answer?.status}`);
  });
}
