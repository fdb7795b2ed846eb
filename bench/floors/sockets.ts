import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type WebSocket, WebSocketServer } from "ws";
import { ensureCertificates } from "#kernel/apiserver/index.ts";

/** Floor of R2: bare WebSockets over TLS. A PATCH of `/api/v3/machines/KEY` sends its body to the socket that has named this key. */
export async function start({ dir }: { readonly dir: string }) {
  const certificates = await ensureCertificates(join(dir, "pki"), Date.now());
  const byKey = new Map<string, WebSocket>();
  const server = createServer(certificates, (request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      byKey.get(request.url?.split("/").at(-1) ?? "")?.send(Buffer.concat(parts).toString("utf8"));
      response.writeHead(200, { "Content-Length": 2 });
      response.end("{}");
    });
  });
  server.keepAliveTimeout = 0;
  const sockets = new WebSocketServer({ server, perMessageDeflate: false });
  sockets.on("connection", (socket) =>
    socket.once("message", (text: Buffer) => {
      byKey.set(text.toString("utf8").split(".").at(-1) ?? "", socket);
      socket.send("{}");
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, ca: certificates.ca };
}
