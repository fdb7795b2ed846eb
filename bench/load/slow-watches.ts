import { connect as connectTls, type TLSSocket } from "node:tls";
import type { Endpoint } from "../ours/items.ts";
import { requestHead } from "./http-connection.ts";

// B4: watchers who read a kilobyte a second. Who is cut off comes back at once, as a client does.

const bytesPerSecond = 1024;
const sockets = new Set<TLSSocket>();

export function connect({
  watchers,
  path,
  token,
  ...endpoint
}: Endpoint & { readonly watchers: number; readonly path: string }): void {
  const head = requestHead("GET", path, { Authorization: `Bearer ${token}` });
  for (let at = 0; at < watchers; at++) follow(endpoint, head);
  setInterval(() => {
    for (const socket of sockets) socket.read(bytesPerSecond);
  }, 1000);
}

function follow({ port, ca }: Pick<Endpoint, "port" | "ca">, head: string | Buffer): void {
  const socket = connectTls({ port, host: "127.0.0.1", ca, servername: "localhost" }, () => socket.write(head));
  socket.pause();
  sockets.add(socket);
  // What is wrong shows in its being closed.
  socket.on("error", () => undefined);
  socket.once("close", () => {
    sockets.delete(socket);
    follow({ port, ca }, head);
  });
}
