import type { Agent, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { type Clock, onAbort } from "#lib/base/index.ts";
import { WebSocket } from "ws";
import { ChannelSocket } from "./channel-socket.ts";

/** TLS settings are the agent's. */
export interface ConnectOptions {
  /** `http:`, `https:`, or `ws+unix:<socket>:<path>`, with the query. */
  readonly url: string;
  /** Subprotocols in order of preference; the server must choose one. */
  readonly protocols: readonly string[];
  readonly headers: OutgoingHttpHeaders;
  readonly agent: Agent;
  readonly clock: Clock;
  /** Ends the handshake only. */
  readonly signal: AbortSignal;
}

/** The server answered the handshake with a response, usually a refusal. The body must be read or destroyed. */
export class NotUpgraded extends Error {
  readonly answer: IncomingMessage;

  constructor(answer: IncomingMessage) {
    super(`the server answered ${answer.statusCode} instead of opening a WebSocket`);
    this.answer = answer;
  }
}

/** Far more than any message of the protocols used here. */
const maxMessageBytes = 16 * 2 ** 20;

/**
 * Opens a WebSocket, unread before its `listen`. Rejects with `NotUpgraded`, the signal's reason or Node's connection
 * error.
 */
export function connectWebSocket(options: ConnectOptions): Promise<ChannelSocket> {
  const { url, protocols, headers, agent, clock, signal } = options;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = new WebSocket(url, [...protocols], {
      headers,
      agent,
      // Compression costs memory and gains little for byte streams.
      perMessageDeflate: false,
      maxPayload: maxMessageBytes,
    });
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
      resolve(new ChannelSocket(socket, clock));
    });
  });
}
