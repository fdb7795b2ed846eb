import { closedLoop, type ClosedFigures } from "../harness/closed-loop.ts";
import { objectName, objects, sequence } from "../floors/load.ts";
import { itemOf, itemsPath } from "../ours/items.ts";
import { HttpConnection, requestHead, type Target } from "./http-connection.ts";

// B3: PUTs of existing items over keep-alive connections, each bound to the resourceVersion of the answer before it. Requests
// are prepared but for the two numbers that change; 10,000 objects are shared out among the connections.

const bytes = 1024;
const revisionMark = '"resourceVersion":"';
const placeholder = "@revision@";

interface Connected {
  readonly connections: readonly HttpConnection[];
  readonly token: string;
  readonly revisions: string[];
  readonly counts: Uint32Array;
  readonly next: () => number;
}

let connected: Connected | undefined;

export interface ConnectOptions extends Target {
  readonly token: string;
  readonly connections: number;
  /** Of all objects, in order. */
  readonly revisions: string[];
}

export async function connect({ token, connections, revisions, ...target }: ConnectOptions): Promise<void> {
  connected = {
    connections: await Promise.all(Array.from({ length: connections }, () => HttpConnection.open(target))),
    token,
    revisions,
    counts: new Uint32Array(objects),
    next: sequence(objects),
  };
}

export async function run({ ms }: { readonly ms: number }): Promise<ClosedFigures> {
  const state = connected;
  if (state === undefined) throw new Error("not connected");
  const { connections, next } = state;
  const perCaller = Math.floor(objects / connections.length);
  const figures = await closedLoop({ ms, inFlight: connections.length }, (_id, caller) =>
    put(state, connections[caller], caller * perCaller + (next() % perCaller)),
  );
  await check(state);
  return figures;
}

async function put(state: Connected, connection: HttpConnection | undefined, index: number): Promise<void> {
  const count = (state.counts[index] ?? 0) + 1;
  state.counts[index] = count;
  const body = bodyOf(index)
    .replace(placeholder, state.revisions[index] ?? "")
    .replace('"count":0', `"count":${count}`);
  const head = requestHead("PUT", `${itemsPath}/${objectName(index)}`, {
    Authorization: `Bearer ${state.token}`,
    "Content-Type": "application/json",
    "Content-Length": body.length,
  });
  const answer = await connection?.send(head + body);
  const text = answer?.body.toString("latin1") ?? "";
  if (answer?.status !== 200) throw new Error(`PUT was answered with ${answer?.status}: ${text.slice(0, 300)}`);
  const at = text.indexOf(revisionMark) + revisionMark.length;
  state.revisions[index] = text.slice(at, text.indexOf('"', at));
}

const bodies = new Map<number, string>();

function bodyOf(index: number): string {
  const known = bodies.get(index);
  if (known !== undefined) return known;
  const item = itemOf(index, 0, bytes);
  const body = JSON.stringify({ ...item, metadata: { ...item.metadata, resourceVersion: placeholder } });
  bodies.set(index, body);
  return body;
}

/** Reads a sample back: what was acknowledged is what is there. */
async function check({ connections, token, counts, revisions }: Connected): Promise<void> {
  const [connection] = connections;
  for (let index = 0; index < objects; index += 499) {
    if (counts[index] === 0) continue;
    const head = requestHead("GET", `${itemsPath}/${objectName(index)}`, { Authorization: `Bearer ${token}` });
    const text = (await connection?.send(head))?.body.toString("latin1") ?? "";
    if (!text.includes(`"count":${counts[index]},`) || !text.includes(`${revisionMark}${revisions[index]}"`))
      throw new Error(`${objectName(index)} is not as it was acknowledged: ${text.slice(0, 300)}`);
  }
}

export function disconnect(): void {
  for (const connection of connected?.connections ?? []) connection.close();
}
