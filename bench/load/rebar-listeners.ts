import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls, createSecureContext } from "node:tls";
import { WebSocket } from "ws";
import { quantile } from "../harness/statistics.ts";
import { requireFiles } from "../ours/agents.ts";
import { HttpConnection } from "./http-connection.ts";
import { ask, type RebarTarget, textIn } from "./rebar-jobs.ts";

// R2: event streams, each registered for one machine, with tokens of machines as agents have them: a caller may keep 32
// streams open. Events are those of changes that this process makes itself.

interface Listener {
  readonly key: string;
  readonly socket: WebSocket;
}

const state = { listeners: [] as Listener[], target: undefined as RebarTarget | undefined };
const together = 32;
/** Machines of one process that there are; the other listeners, with their tokens, wait for machines that do not come. */
const mostMachines = 200;
const context = createSecureContext();

export interface Listening extends RebarTarget {
  readonly from: number;
  readonly count: number;
}

export async function connect({ from, count, ...target }: Listening): Promise<void> {
  requireFiles(count);
  const { authorization } = target;
  const connection = await HttpConnection.open(target);
  const machines: { readonly key: string; readonly token: string }[] = [];
  for (let at = 0; at < Math.min(count, mostMachines); at++)
    machines.push(
      authorization === undefined
        ? { key: `bare-${from + at}`, token: "none" }
        : await newMachine(connection, authorization, `listened-${from + at}`),
    );
  connection.close();
  state.target = target;
  const left = Array.from({ length: count }, (_, at) => at).values();
  const openAll = async (): Promise<void> => {
    for (const at of left) {
      const { key = `absent-${from + at}` } = machines[at] ?? {};
      const { token = "none" } = machines[at % mostMachines] ?? {};
      state.listeners[at] = { key, socket: await open(target.port, token, key) };
    }
  };
  await Promise.all(Array.from({ length: together }, openAll));
}

async function newMachine(connection: HttpConnection, authorization: string, Name: string) {
  const sent = JSON.stringify({ Name });
  const key = textIn((await ask(connection, "POST", "/api/v3/machines", authorization, sent)).json, "Uuid");
  const path = `/api/v3/machines/${key}/token?ttl=86400`;
  return { key, token: textIn((await ask(connection, "GET", path, authorization)).json, "Token") };
}

/** Resolves when the registration is acknowledged. */
function open(port: number, token: string, key: string): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`wss://127.0.0.1:${port}/api/v3/ws`, {
      headers: { Authorization: `Bearer ${token}` },
      perMessageDeflate: false,
      createConnection: () =>
        connectTls({ port, host: "127.0.0.1", secureContext: context, rejectUnauthorized: false }),
    });
    socket.once("error", reject);
    socket.once("open", () => socket.send(`register machines.*.${key}`));
    socket.once("message", () => resolve(socket));
  });
}

/** Changes one machine after the other, and waits each time until its listener knows. */
export async function run({ ms }: { readonly ms: number }) {
  const { target } = state;
  if (target === undefined) throw new Error("not connected");
  const connection = await HttpConnection.open(target);
  const took: number[] = [];
  const start = performance.now();
  for (let count = 0; count === 0 || performance.now() < start + ms; count++) {
    const listener = state.listeners[count % Math.min(mostMachines, state.listeners.length)];
    if (listener === undefined) break;
    took.push(await changeOnce(connection, target.authorization, listener, count));
    await sleep(5);
  }
  connection.close();
  took.sort((a, b) => a - b);
  return { ops: took.length, ms: performance.now() - start, p50: quantile(took, 0.5), p99: quantile(took, 0.99) };
}

async function changeOnce(
  connection: HttpConnection,
  authorization = "none",
  { key, socket }: Listener,
  count: number,
): Promise<number> {
  const text = `change ${count} at ${performance.now()}`;
  const told = new Promise<void>((resolve, reject) => {
    socket.once("message", (bytes: Buffer) =>
      bytes.includes(text) ? resolve() : reject(new Error(`${key} was told of something else`)),
    );
    socket.once("close", () => reject(new Error(`the event stream of ${key} was closed`)));
  });
  const start = performance.now();
  const patch = JSON.stringify([{ op: "replace", path: "/Description", value: text }]);
  const [at] = await Promise.all([
    told.then(() => performance.now()),
    ask(connection, "PATCH", `/api/v3/machines/${key}`, authorization, patch),
  ]);
  socket.removeAllListeners("close");
  return at - start;
}
