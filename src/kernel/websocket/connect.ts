import type { Agent, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { type Clock, onAbort } from "#lib/base/index.ts";
import { WebSocket } from "ws";
import { ChannelSocket } from "./channel-socket.ts";
import { TextSocket } from "./text-socket.ts";

/** TLS settings are the agent's. */
export interface ConnectOptions extends ConnectTextOptions {
  /** Subprotocols in order of preference; the server must choose one. */
  readonly protocols: readonly string[];
}

export interface ConnectTextOptions {
  /** `http:`, `https:`, or `ws+unix:<socket>:<path>`, with the query. */
  readonly url: string;
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
export const connectWebSocket = (options: ConnectOptions): Promise<ChannelSocket> =>
  open(options, options.protocols, (socket) => new ChannelSocket(socket, options.clock));

/** As `connectWebSocket`, for text messages without subprotocols. */
export const connectText = (options: ConnectTextOptions): Promise<TextSocket> =>
  open(options, [], (socket) => new TextSocket(socket, options.clock));

/** `take` gets the socket at once, so that no message is missed. */
function open<S>(
  { url, headers, agent, signal }: ConnectTextOptions,
  protocols: readonly string[],
  take: (socket: WebSocket) => S,
): Promise<S> {
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
      resolve(take(socket));
    });
  });
}
