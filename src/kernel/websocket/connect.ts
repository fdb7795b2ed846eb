import type { Agent, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { Clock } from "#lib/base/index.ts";
import { WebSocket } from "ws";
import { ChannelSocket } from "./channel-socket.ts";

/** Where to, and as whom. What belongs to TLS is the agent's. */
export interface ConnectOptions {
  /** `http:`, `https:`, or `ws+unix:<socket>:<path>`, with the query. */
  readonly url: string;
  /** Subprotocols in the order of preference; a server that chooses none of them is not connected to. */
  readonly protocols: readonly string[];
  readonly headers: OutgoingHttpHeaders;
  readonly agent: Agent;
  readonly clock: Clock;
  /** Ends the handshake with its reason. What comes after it is the connection's. */
  readonly signal: AbortSignal;
}

/** A server that answers the handshake with something else, most often with why it refuses. The body has to be read or destroyed. */
export class NotUpgraded extends Error {
  readonly answer: IncomingMessage;

  constructor(answer: IncomingMessage) {
    super(`the server answered ${answer.statusCode} instead of opening a WebSocket`);
    this.answer = answer;
  }
}

/** No message of the protocols spoken here is larger by far; what is ends the connection. */
const maxMessageBytes = 16 * 2 ** 20;

/**
 * Opens a WebSocket. Nothing is read of it before its `listen`. Rejects with `NotUpgraded`, with the signal's reason, or with the
 * failure of the connection as Node tells it.
 */
export function connectWebSocket(options: ConnectOptions): Promise<ChannelSocket> {
  const { url, protocols, headers, agent, clock, signal } = options;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = new WebSocket(url, [...protocols], {
      headers,
      agent,
      // Streams of bytes gain little by being compressed, and memory is what it costs.
      perMessageDeflate: false,
      maxPayload: maxMessageBytes,
    });
    const abort = (): void => {
      reject(signal.reason as Error);
      socket.terminate();
    };
    signal.addEventListener("abort", abort, { once: true });
    const settled = (): void => signal.removeEventListener("abort", abort);
    socket.once("unexpected-response", (_request: unknown, answer: IncomingMessage) => {
      settled();
      reject(new NotUpgraded(answer));
    });
    // Stays: a socket that is terminated while it connects says so here.
    socket.on("error", (thrown) => {
      settled();
      reject(thrown);
    });
    socket.once("open", () => {
      settled();
      resolve(new ChannelSocket(socket, clock));
    });
  });
}
