import { once } from "node:events";
import { type IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import { type AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { codeOf, deferred, messageOf, SlipwayError } from "#lib/base/index.ts";
import { loopbackNames } from "../authz/browser-guard.ts";
import { type ConnectionLimits, Connections, defaultConnectionLimits } from "./connections.ts";
import type { Exchange } from "./exchange.ts";
import { refuseProtocol } from "./protocol-errors.ts";
import { type FrontDoor, handleRequest } from "./request-handler.ts";

/** PEM. With `ca`, clients may show a certificate of this authority; nobody is refused for having none. */
export interface ListenerTls {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

/** Where to listen and as whom. */
export interface ListenOptions {
  /** An address of this machine; 127.0.0.1 unless told. Any other lets other machines in, who then need the token. */
  readonly host?: string;
  /** 0 takes any free port. */
  readonly port: number;
  /**
   * Names and addresses clients may use besides the loopback names and `host`; a `Host` header with any other is refused (421). IPv6
   * addresses without brackets.
   */
  readonly names?: readonly string[];
  /** PEM of the serving certificate and its key. */
  readonly tls: ListenerTls;
  /** Those left out are the defaults. */
  readonly connections?: Partial<ConnectionLimits>;
}

/** A socket that accepts. Several may serve one server. */
export interface Listener {
  /** `https://127.0.0.1:6443`. */
  readonly url: string;
  readonly port: number;
  /** Serves new connections with another certificate; those that are open go on. */
  renew(tls: ListenerTls): void;
  /** Stops accepting, ends watches, and waits for what is under way, at most `closeGraceMs`. */
  close(): Promise<void>;
}

/** What has not ended by then is cut: a log that is followed, a body that does not come. */
const closeGraceMs = 5000;

/**
 * Starts to listen; rejects when the address cannot be used (`listen-failed`). HTTPS with HTTP/1.1 only, so that upgrades stay
 * possible. `makeDoor` is asked once, with the names the listener answers for and the signal of its close.
 *
 * Closing goes on while answers do: new requests get 503, watches end with a normal last chunk, connections are cut after their
 * answer, and what is left after `closeGraceMs` is cut where it is.
 */
export async function openListener(
  makeDoor: (hostNames: readonly string[], closing: AbortSignal) => FrontDoor,
  options: ListenOptions,
): Promise<Listener> {
  const host = options.host ?? "127.0.0.1";
  // `0.0.0.0` and `::` are all addresses to whoever listens; a client that calls a server so is led by something else.
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
    queued.note(socket, response);
    const rest = connections.busy(socket);
    active.add(response);
    response.once("close", () => {
      rest();
      active.delete(response);
      // Kept alive it would hold up the end of the server; what has been written still goes out.
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
    // Always, for nobody hands connections over from elsewhere.
    if (socket instanceof Socket) connections.opened(socket);
  });
  server.on("secureConnection", (socket) => connections.secured(socket));
  // A client that breaks the handshake is its own problem; Node has closed the socket already.
  server.on("tlsClientError", () => undefined);
  server.on("clientError", (error, socket) => {
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
    // Node takes a connection for idle, and cuts it, as soon as its answer has been written but before it is sent.
    await Promise.race([Promise.all([...active].map((response) => once(response, "close"))), graceOver.promise]);
    cancel();
    await closeServer(server, connections);
  };
  return { url: `https://${bracketed(host)}:${address.port}`, port: address.port, renew, close };
}

/**
 * Answers to requests that were sent before the answer to the one before them. Node tells of the end of a connection only the answer whose turn it
 * is; the others would never end.
 */
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

/**
 * For a request whose connection Node has given up, because it asks for an upgrade: the answer is its last one, unless somebody takes the
 * connection over. Closes with the connection.
 */
function lastResponse(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  // Always a socket, as below.
  response.assignSocket(socket as Socket);
  // What is wrong with the connection is its end.
  socket.on("error", () => undefined);
  socket.on("drain", () => response.writableNeedDrain && response.emit("drain"));
  response.once("finish", () => request.socket.destroySoon());
  return response;
}

/** A certificate that is none of ours does not end the handshake: its holder may have a token. */
const tlsOptions = ({ cert, key, ca }: ListenerTls) =>
  ca === undefined ? { cert, key } : { cert, key, ca, requestCert: true, rejectUnauthorized: false };

/** IPv6 addresses as URLs and `Host` have them. */
const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

/**
 * HTTPS of our kind. There is no limit on a connection as a whole, because watches last for hours; Node counts a request from its first
 * byte, so that the limit on headers does not end a connection between two requests.
 */
const serverOptions = (limits: ConnectionLimits): ServerOptions => ({
  minVersion: "TLSv1.2",
  maxHeaderSize: 16 * 1024,
  noDelay: true,
  // A peer that went without a word is found out by the system, which asks for it when nothing has come for a while.
  keepAlive: true,
  keepAliveInitialDelay: limits.probeAfterMs,
  handshakeTimeout: limits.handshakeMs,
  headersTimeout: limits.headersMs,
  requestTimeout: limits.requestMs,
  keepAliveTimeout: limits.idleMs,
  connectionsCheckingInterval: limits.checkEveryMs,
});

/** Rejects with what a person can act on: the address, and whether the port is taken. */
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

/**
 * Idle connections and those whose answers did not end in time are cut, and so are handshakes: Node would wait for each of them, and
 * does not look at the time of connections any more once it closes.
 */
function closeServer(server: Server, connections: Connections): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    connections.cut();
  });
}
