import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

/** A connection that a test's server has taken, seen from the server. */
export interface ServedStream {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly socket: WebSocket;
  /** Sends a text or bytes on a channel. */
  say(channel: number, payload: Uint8Array | string): void;
  /** Says how an exec has ended, and closes. */
  exit(status: object): void;
  /** What came on a channel so far. */
  heard(channel: number): Buffer;
  readonly closed: Promise<unknown>;
}

/** A server of nothing but Pods' streams, which behaves as the test says. */
export interface PodStreamServer {
  readonly url: string;
  readonly port: number;
  /** What each connection is met with. */
  serve: (stream: ServedStream) => void;
  /** The answer to handshakes that are not to become connections: a status and a body. Undefined: all become one. */
  refuse: ((headers: IncomingHttpHeaders) => readonly [number, string] | undefined) | undefined;
  /** Subprotocols that it speaks. */
  protocols: readonly string[];
  close(): Promise<void>;
}

/** On loopback, or over the given server, which must not listen yet. */
export async function openPodStreamServer(server: Server = createServer()): Promise<PodStreamServer> {
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => made.protocols.find((each) => offered.has(each)) ?? false,
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const made: PodStreamServer = {
    url: `http://127.0.0.1:${port}`,
    port,
    serve: () => undefined,
    refuse: undefined,
    protocols: ["v5.channel.k8s.io", "v4.channel.k8s.io"],
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  server.on("upgrade", (request, socket, head) => {
    const refused = made.refuse?.(request.headers);
    if (refused !== undefined) {
      const [status, body] = refused;
      socket.end(
        `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
      return;
    }
    sockets.handleUpgrade(request, socket, head, (opened) =>
      made.serve(served(request.url ?? "", request.headers, opened)),
    );
  });
  return made;
}

function served(url: string, headers: IncomingHttpHeaders, socket: WebSocket): ServedStream {
  const heard: Buffer[] = [];
  socket.on("message", (data: Buffer) => heard.push(data));
  const say = (channel: number, payload: Uint8Array | string): void =>
    socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(payload)]));
  return {
    url,
    headers,
    socket,
    say,
    exit(status) {
      say(3, JSON.stringify(status));
      socket.close(1000);
    },
    heard: (channel) => Buffer.concat(heard.filter(([first]) => first === channel).map((each) => each.subarray(1))),
    closed: once(socket, "close"),
  };
}
