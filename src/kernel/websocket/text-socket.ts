import type { IncomingMessage } from "node:http";
import { type Cancel, type Clock, deferred, messageOf, type Millis, onAbort } from "#lib/base/index.ts";
import { WebSocket, WebSocketServer } from "ws";
import type { Upgrade } from "./accept.ts";
import type { Ending } from "./channel-socket.ts";
import { type ConnectOptions, NotUpgraded } from "./connect.ts";

const pingEvery: Millis = 30_000;
const longestMessage = 16 * 2 ** 20;

/**
 * An open WebSocket whose messages are texts, the same on both sides. Nothing is read before `listen`. It pings and
 * gives up an other end that is silent for a minute; the owner calls `close` even after the other end has closed.
 */
export class TextSocket {
  /** Resolves with the end of the connection, whatever the reason. */
  readonly closed: Promise<Ending>;
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  #isAnswered = true;
  #nextPing: Cancel = () => undefined;

  /** `socket` must be open and unread: it is paused here. */
  constructor(socket: WebSocket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    socket.pause();
    const closed = deferred<Ending>();
    this.closed = closed.promise;
    // The connection's end is reported instead.
    socket.on("error", () => undefined);
    socket.on("pong", () => (this.#isAnswered = true));
    socket.once("close", (code, reason) => {
      this.#nextPing();
      closed.resolve({ code, reason: reason.toString("utf8") });
    });
    this.#nextPing = clock.after(pingEvery, () => this.#ping());
  }

  /** Begins to read; called once. Binary messages are ignored. If it throws, the connection is closed with 1011. */
  listen(receive: (text: string) => void): void {
    this.#socket.on("message", (data, isBinary) => {
      if (isBinary) return;
      try {
        receive((data as Buffer).toString("utf8"));
      } catch (thrown) {
        this.close(1011, messageOf(thrown));
      }
    });
    this.#socket.resume();
  }

  /** Bytes that were sent and not yet taken by the system. */
  get backlog(): number {
    return this.#socket.bufferedAmount;
  }

  /** Resolves true once the system has taken it; false if the connection has ended. */
  send(text: string): Promise<boolean> {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return Promise.resolve(false);
    return new Promise((resolve) => socket.send(text, (failure) => resolve(!(failure instanceof Error))));
  }

  /** Ends the connection after what was sent. The reason has at most 123 bytes. */
  close(code = 1000, reason = ""): void {
    this.#socket.close(code, Buffer.from(reason).subarray(0, 123).toString("utf8").replaceAll("\ufffd", ""));
    this.#socket.resume();
  }

  /** Ends it at once. */
  cut(): void {
    this.#socket.terminate();
  }

  #ping(): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    if (!this.#isAnswered && socket.bufferedAmount === 0) return this.cut();
    this.#isAnswered = socket.bufferedAmount > 0;
    socket.ping();
    this.#nextPing = this.#clock.after(pingEvery, () => this.#ping());
  }
}

/** As `connectWebSocket`, without subprotocols. */
export function connectText(options: Omit<ConnectOptions, "protocols">): Promise<TextSocket> {
  const { url, headers, agent, clock, signal } = options;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = new WebSocket(url, { headers, agent, perMessageDeflate: false, maxPayload: longestMessage });
    const settled = onAbort(signal, () => {
      reject(signal.reason as Error);
      socket.terminate();
    });
    socket.once("unexpected-response", (_request: unknown, answer: IncomingMessage) => {
      settled();
      reject(new NotUpgraded(answer));
    });
    // Stays: terminating a connecting socket emits an error here.
    socket.on("error", (thrown) => {
      settled();
      reject(thrown);
    });
    socket.once("open", () => {
      settled();
      resolve(new TextSocket(socket, clock));
    });
  });
}

/** Answers the handshake of an `upgrade` event; only if `handshakeProblem` has none. The socket then belongs to it. */
export function acceptText({ request, socket, head }: Upgrade, clock: Clock): Promise<TextSocket> {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: longestMessage,
  });
  return new Promise((resolve, reject) => {
    const fail = (cause: Error) => {
      socket.destroy();
      reject(cause);
    };
    server.once("wsClientError", fail);
    if (socket.destroyed) return fail(new Error("the client disconnected before its handshake was answered"));
    server.handleUpgrade(request, socket, head, (websocket) => resolve(new TextSocket(websocket, clock)));
  });
}
