import { WebSocket } from "ws";

/** What a client of channels has heard. */
export interface TestClient {
  readonly protocol: string;
  /** Everything that came on a channel so far. */
  heard(channel: number): Buffer;
  /** Pings that were answered. */
  readonly pings: number;
  /** Channels in the order of their messages. */
  readonly order: readonly number[];
  send(channel: number, payload: Uint8Array | string): void;
  /** A message as it is, also one that is no message of a channel. */
  sendRaw(message: Uint8Array | string): void;
  /** Stops and goes on reading, as a slow client does. */
  pause(): void;
  resume(): void;
  close(): void;
  /** Goes away without a word. */
  vanish(): void;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

/** The answer to a handshake that was refused. */
export class HandshakeRefused extends Error {
  readonly status: number;
  readonly body: string;
  constructor(status: number, body: string) {
    super(`the handshake was answered with ${status}: ${body}`);
    this.status = status;
    this.body = body;
  }
}

export interface TestClientOptions {
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** PEM of the server's authority. */
  readonly ca?: string;
}

/** Opens a WebSocket to a `ws:` or `wss:` address; rejects with HandshakeRefused when the server answers otherwise. */
export function openTestClient(url: string, options: TestClientOptions = {}): Promise<TestClient> {
  const { protocols = ["v5.channel.k8s.io"], headers = {}, ca } = options;
  const socket = new WebSocket(url, [...protocols], { headers, ...(ca === undefined ? {} : { ca }) });
  const pieces: { readonly channel: number; readonly payload: Buffer }[] = [];
  socket.on("message", (data: Buffer) => pieces.push({ channel: data[0] ?? -1, payload: data.subarray(1) }));
  let pings = 0;
  socket.on("ping", () => pings++);
  const closed = new Promise<{ readonly code: number; readonly reason: string }>((resolve) =>
    socket.once("close", (code, reason) => resolve({ code, reason: reason.toString() })),
  );
  const client: TestClient = {
    get protocol() {
      return socket.protocol;
    },
    get pings() {
      return pings;
    },
    get order() {
      return pieces.map(({ channel }) => channel);
    },
    heard: (wanted) => Buffer.concat(pieces.filter(({ channel }) => channel === wanted).map(({ payload }) => payload)),
    send: (channel, payload) => socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(payload)])),
    sendRaw: (message) => socket.send(message),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: () => socket.close(),
    vanish: () => socket.terminate(),
    closed,
  };
  return new Promise((resolve, reject) => {
    socket.once("open", () => resolve(client));
    socket.once("error", reject);
    socket.once("unexpected-response", (_request, response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => (body += piece));
      response.once("end", () => reject(new HandshakeRefused(response.statusCode ?? 0, body)));
    });
  });
}
