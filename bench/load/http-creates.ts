import { objectName } from "../floors/load.ts";
import { closedLoop, type ClosedFigures } from "../harness/closed-loop.ts";
import { itemOf, itemsPath } from "../ours/items.ts";
import { HttpConnection, requestHead, type Target } from "./http-connection.ts";

// P2, P3: POSTs of new items of 1.2 KB over keep-alive connections. Names go on from window to window.

const bytes = 1_200;
/** Every so many objects one is read back. */
const sampleEvery = 97;

interface Connected {
  readonly connections: readonly HttpConnection[];
  readonly token: string;
  /** Objects that were there before. */
  readonly first: number;
  created: number;
}

let connected: Connected | undefined;

export interface ConnectOptions extends Target {
  readonly token: string;
  readonly connections: number;
  /** As many objects are there already. */
  readonly first: number;
}

export async function connect({ token, connections, first, ...target }: ConnectOptions): Promise<void> {
  const open = Array.from({ length: connections }, () => HttpConnection.open(target));
  connected = { connections: await Promise.all(open), token, first, created: 0 };
}

export async function run({ ms }: { readonly ms: number }): Promise<ClosedFigures> {
  const state = connected;
  if (state === undefined) throw new Error("not connected");
  const from = state.created;
  const figures = await closedLoop({ ms, inFlight: state.connections.length }, (_id, caller) => create(state, caller));
  await check(state, from);
  return figures;
}

async function create(state: Connected, caller: number): Promise<void> {
  const body = bodyOf(state.first + state.created++);
  const head = requestHead("POST", itemsPath, {
    Authorization: `Bearer ${state.token}`,
    "Content-Type": "application/json",
    "Content-Length": body.length,
  });
  const answer = await state.connections[caller]?.send(head + body);
  if (answer?.status !== 201)
    throw new Error(`POST was answered with ${answer?.status}: ${answer?.body.toString("latin1").slice(0, 300)}`);
}

const placeholder = "@name@";
const template = JSON.stringify({
  ...itemOf(0, 0, bytes),
  metadata: { ...itemOf(0, 0, bytes).metadata, name: placeholder },
});

/** Made of text: to encode an object costs as much as to send it. */
const bodyOf = (index: number): string =>
  template.replace(placeholder, objectName(index)).replace('"count":0', `"count":${index}`);

/** What was acknowledged in this window is there; of each hundred one is read. */
async function check({ connections, token, first, created }: Connected, from: number): Promise<void> {
  for (let at = from; at < created; at += sampleEvery) {
    const name = objectName(first + at);
    const head = requestHead("GET", `${itemsPath}/${name}`, { Authorization: `Bearer ${token}` });
    const text = (await connections[0]?.send(head))?.body.toString("latin1") ?? "";
    if (!text.includes(`"count":${first + at},`) || !text.includes(`"name":"${name}"`))
      throw new Error(`${name} was acknowledged and is not there: ${text.slice(0, 300)}`);
  }
}

export function disconnect(): void {
  for (const connection of connected?.connections ?? []) connection.close();
}
