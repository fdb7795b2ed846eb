import type { Duplex } from "node:stream";
import { messageOf } from "#lib/base/index.ts";
import { type ChannelSocket, writeTo } from "#kernel/websocket/index.ts";

/** Connects to a port; rejects when nothing listens or the signal aborts. */
export type Dial = (port: number, signal: AbortSignal) => Promise<Duplex>;

/** The i-th port's bytes are on channel 2i, its errors as text on 2i+1. Never rejects. */
export async function forwardPorts(
  socket: ChannelSocket,
  ports: readonly number[],
  dial: Dial,
  signal: AbortSignal,
): Promise<void> {
  const gone = new AbortController();
  const abort = () => socket.close(1001, "the server ends this connection");
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  void socket.closed.then(() => {
    signal.removeEventListener("abort", abort);
    gone.abort(new Error("the client has gone away"));
  });
  // Each channel first announces its port.
  for (const [index, port] of ports.entries()) {
    const name = Buffer.alloc(2);
    name.writeUInt16LE(port);
    await socket.send(2 * index, name);
    await socket.send(2 * index + 1, name);
  }
  const connections = ports.map((port) => opened(dial, port, gone.signal));
  socket.listen(async (channel, payload) => {
    const connection = channel % 2 === 0 ? await connections[channel / 2] : undefined;
    if (connection !== undefined && !(connection instanceof Error)) await writeTo(connection, payload);
  });
  await Promise.all(connections.map((connection, index) => carry(socket, 2 * index, ports[index] ?? 0, connection)));
  socket.close();
}

/** Returns a failure, which is reported on its channel. */
async function opened(dial: Dial, port: number, gone: AbortSignal): Promise<Duplex | Error> {
  try {
    const connection = await dial(port, gone);
    connection.on("error", () => undefined);
    const cut = () => void connection.destroy();
    gone.addEventListener("abort", cut, { once: true });
    connection.once("close", () => gone.removeEventListener("abort", cut));
    if (gone.aborted) cut();
    return connection;
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error(messageOf(thrown));
  }
}

async function carry(
  socket: ChannelSocket,
  channel: number,
  port: number,
  opening: Promise<Duplex | Error>,
): Promise<void> {
  const connection = await opening;
  try {
    if (connection instanceof Error) throw connection;
    for await (const chunk of connection as AsyncIterable<Buffer>) if (!(await socket.send(channel, chunk))) return;
  } catch (thrown) {
    await socket.send(channel + 1, Buffer.from(`error forwarding port ${port}: ${messageOf(thrown)}`));
  }
}
