import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import { type AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import {
  type ConnectionLimits,
  Connections,
  defaultConnectionLimits,
  isUnused,
  lastResponse,
} from "#kernel/doors/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import { codeOf, deferred, messageOf, SlipwayError } from "#lib/base/index.ts";
import { loopbackNames } from "../authz/browser-guard.ts";
import type { Exchange } from "./exchange.ts";
import { type FrontDoor, handleRequest } from "./request-handler.ts";

/** PEM. With `ca`, clients may present a certificate of this authority; none is required. */
export interface ListenerTls {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

export interface ListenOptions {
  /** An address of this machine, 127.0.0.1 by default. */
  readonly host?: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Allowed `Host` names besides loopback and `host`; others get 421. IPv6 addresses without brackets. */
  readonly names?: readonly string[];
  readonly tls: ListenerTls;
  readonly connections?: Partial<ConnectionLimits>;
}

/** An open port. One server may have several. */
export interface Listener {
  readonly url: string;
  readonly port: number;
  /** Serves new connections with another certificate; open ones continue. */
  renew(tls: ListenerTls): void;
  /** Stops accepting, ends watches, and waits up to `closeGraceMs` for other requests. */
  close(): Promise<void>;
}

/** Cuts remaining connections after this time. */
const closeGraceMs = 5000;

/** Listens with HTTPS and HTTP/1.1 only, for upgrades. Rejects with `listen-failed`. `makeDoor` gets the names. */
export async function openListener(
  makeDoor: (hostNames: readonly string[], closing: AbortSignal) => FrontDoor,
  options: ListenOptions,
): Promise<Listener> {
  const host = options.host ?? "127.0.0.1";
  // `0.0.0.0` and `::` are no names for clients.
  const own = host === "0.0.0.0" || host === "::" ? [] : [host];
  const hostNames = [...loopbackNames, ...[...own, ...(options.names ?? [])].map(bracketed)].map((name) =>
    name.toLowerCase(),
  );
  const closing = new AbortController();
  const active = new Set<ServerResponse>();
  const door = makeDoor(hostNames, closing.signal);
  const limits = { ...defaultConnectionLimits, ...options.connections };
  const connections = new Connections(limits);
  const queued = new QueuedAnswers();
  const answer = (request: IncomingMessage, response: ServerResponse, upgrade?: Exchange["upgrade"]) => {
    const { socket } = request;
    // Set by us, for a connection that was not in use; Node unsets its own.
    if (socket.timeout) socket.setTimeout(0);
    queued.note(socket, response);
    const rest = connections.busy(socket);
    active.add(response);
    response.once("close", () => {
      rest();
      active.delete(response);
      // Ends a kept-alive connection, which would delay the close; sends what was written.
      if (closing.signal.aborted) socket.destroySoon();
    });
    void handleRequest(door, request, response, upgrade);
  };
  const server = createServer({ ...tlsOptions(options.tls), ...serverOptions(limits) }, (request, response) =>
    answer(request, response),
  );
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    answer(request, lastResponse(request, socket), { socket, head }),
  );
  server.on("connection", (socket) => {
    // Always true: only the server hands connections over.
    if (socket instanceof Socket) connections.opened(socket);
  });
  server.on("secureConnection", (socket) => connections.secured(socket));
  // Node has already closed the socket; a failed handshake only concerns its client.
  server.on("tlsClientError", () => undefined);
  server.on("clientError", (error, socket) => {
    // Ends silently, unless a request comes.
    if (isUnused(error, socket)) return void socket.setTimeout(Math.max(1, limits.idleMs - limits.headersMs));
    const isAnswering = [...active].some((response) => response.socket === socket && response.headersSent);
    refuseProtocol(error, socket, isAnswering);
  });
  await listening(server, host, options.port);
  const address = server.address() as AddressInfo;
  const renew = (tls: ListenerTls) => server.setSecureContext({ ...tlsOptions(tls), minVersion: "TLSv1.2" });
  const close = async () => {
    closing.abort();
    const graceOver = deferred<void>();
    const cancel = door.resources.context.clock.after(closeGraceMs, () => graceOver.resolve());
    // Wait, because Node would cut answers not sent yet.
    await Promise.race([Promise.all([...active].map((response) => once(response, "close"))), graceOver.promise]);
    cancel();
    await closeServer(server, connections);
  };
  return { url: `https://${bracketed(host)}:${address.port}`, port: address.port, renew, close };
}

/** Closes pipelined answers; when a connection ends, Node closes only the current one. */
class QueuedAnswers {
  readonly #byConnection = new WeakMap<Socket, Set<ServerResponse>>();

  note(connection: Socket, response: ServerResponse): void {
    if (response.socket !== null) return;
    const waiting = this.#byConnection.get(connection) ?? this.#follow(connection);
    waiting.add(response);
    response.once("socket", () => waiting.delete(response));
  }

  #follow(connection: Socket): Set<ServerResponse> {
    const waiting = new Set<ServerResponse>();
    this.#byConnection.set(connection, waiting);
    connection.once("close", () => {
      for (const response of waiting) {
        response.destroy();
        response.emit("close");
      }
    });
    return waiting;
  }
}

/** Accepts foreign certificates, since their owner may have a token. */
const tlsOptions = ({ cert, key, ca }: ListenerTls) =>
  ca === undefined ? { cert, key } : { cert, key, ca, requestCert: true, rejectUnauthorized: false };

/** IPv6 addresses as in URLs and `Host`. */
const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

/** No limit on a whole connection: watches last for hours. */
const serverOptions = (limits: ConnectionLimits): ServerOptions => ({
  minVersion: "TLSv1.2",
  maxHeaderSize: 16 * 1024,
  noDelay: true,
  // TCP detects vanished peers.
  keepAlive: true,
  keepAliveInitialDelay: limits.probeAfterMs,
  handshakeTimeout: limits.handshakeMs,
  headersTimeout: limits.headersMs,
  requestTimeout: limits.requestMs,
  keepAliveTimeout: limits.idleMs,
  connectionsCheckingInterval: limits.checkEveryMs,
});

/** Rejects with the address and whether the port is taken. */
function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (cause: Error) => {
      const taken = codeOf(cause) === "EADDRINUSE";
      const message = `cannot listen on ${bracketed(host)}:${port}: ${taken ? "the port is in use" : messageOf(cause)}`;
      reject(new SlipwayError("listen-failed", message, { cause }));
    };
    server.once("error", fail);
    server.listen({ host, port }, () => {
      server.off("error", fail);
      resolve();
    });
  });
}

/** Cuts the rest: Node would wait for idle connections and stops checking its timeouts while closing. */
function closeServer(server: Server, connections: Connections): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    connections.cut();
  });
}

/** Node's refusals; other parser errors (`HPE_…`) mean no HTTP. */
const refusals: ReadonlyMap<string | undefined, readonly [code: number, message: string]> = new Map([
  ["HPE_HEADER_OVERFLOW", [431, "the headers of the request are larger than 16 KiB"]],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", [413, "the extensions of a chunk of the body are too large"]],
  ["ERR_HTTP_REQUEST_TIMEOUT", [408, "the request did not come in time"]],
]);

/** A Status as the whole answer to a malformed request, which has no response. */
export function protocolRefusal(error: Error): string {
  const [code, message] = refusals.get(codeOf(error)) ?? [400, "the request cannot be read as HTTP/1.1"];
  const refusal = new ApiError(code === 413 ? "RequestEntityTooLarge" : "BadRequest", message, { code });
  const body = `${JSON.stringify(refusal.toStatus())}\n`;
  const head = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code]}`,
    "Connection: close",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "X-Content-Type-Options: nosniff",
    "Cache-Control: no-store",
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

/** Only closes the connection during an answer or after a connection or handshake failure. */
export function refuseProtocol(error: Error, socket: Duplex, isAnswering: boolean): void {
  const code = codeOf(error) ?? "";
  const isOfRequest = code.startsWith("HPE_") || refusals.has(code);
  if (isOfRequest && socket.writable && !isAnswering) socket.end(protocolRefusal(error), () => socket.destroy());
  else socket.destroy();
}
