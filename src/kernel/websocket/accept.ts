import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "#lib/base/index.ts";
import { ChannelSocket } from "./channel-socket.ts";
import { TextSocket } from "./text-socket.ts";

/** As in Kubernetes' server: some clients send a whole file as one message. It is held in memory once. */
const longestMessage = 32 * 1024 * 1024;
const longestText = 16 * 1024 * 1024;

/** Whether a request asks for a WebSocket, well-formed or not. */
export const asksForWebSocket = ({ upgrade }: IncomingHttpHeaders): boolean => upgrade?.toLowerCase() === "websocket";

/** What is wrong with the handshake, as a sentence; undefined if it can be accepted. */
export function handshakeProblem({ method, headers }: Pick<IncomingMessage, "method" | "headers">): string | undefined {
  if (method !== "GET") return `a WebSocket is opened by GET, not by ${method}`;
  const version = headers["sec-websocket-version"];
  if (version !== "13") return `Sec-WebSocket-Version must be 13, not ${JSON.stringify(version ?? "")}`;
  const key = headers["sec-websocket-key"];
  // RFC 6455, 4.1: 16 bytes in base64.
  if (!/^[+/0-9A-Za-z]{22}==$/.test(key ?? "")) return "Sec-WebSocket-Key must be 16 bytes in base64";
  return undefined;
}

/** A request of an HTTP server's `upgrade` event. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that followed the request's headers. */
  readonly head: Buffer;
}

/**
 * Answers the handshake (101) with `protocol`, which must have been offered; only if `handshakeProblem` has none. The
 * socket then belongs to the WebSocket. Rejects with the socket destroyed if the handshake cannot be answered.
 */
export function acceptChannels(upgrade: Upgrade, protocol: string, clock: Clock): Promise<ChannelSocket> {
  // Other offers, which may be malformed, are not looked at.
  const headers = { ...upgrade.request.headers, "sec-websocket-protocol": protocol };
  const request = Object.create(upgrade.request, { headers: { value: headers } }) as IncomingMessage;
  const options = { maxPayload: longestMessage, handleProtocols: () => protocol };
  return shakeHands({ ...upgrade, request }, options, (socket) => new ChannelSocket(socket, clock));
}

/** As `acceptChannels`, for text messages without subprotocols. */
export const acceptText = (upgrade: Upgrade, clock: Clock): Promise<TextSocket> =>
  shakeHands(upgrade, { maxPayload: longestText }, (socket) => new TextSocket(socket, clock));

/** `take` gets the socket at once, so that no message is missed. */
function shakeHands<S>(
  { request, socket, head }: Upgrade,
  options: ServerOptions,
  take: (socket: WebSocket) => S,
): Promise<S> {
  // Does not listen: it serves one handshake.
  const server = new WebSocketServer({ ...options, noServer: true, clientTracking: false, perMessageDeflate: false });
  return new Promise((resolve, reject) => {
    const fail = (cause: Error) => {
      socket.destroy();
      reject(cause);
    };
    server.once("wsClientError", fail);
    if (socket.destroyed) return fail(new Error("the client went away before its handshake was answered"));
    server.handleUpgrade(request, socket, head, (websocket) => resolve(take(websocket)));
  });
}
