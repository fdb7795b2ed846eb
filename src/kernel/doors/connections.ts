import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { codeOf, type Millis } from "#lib/base/index.ts";

/** Limits of a listener's connections. */
export interface ConnectionLimits {
  /** Includes idle connections. */
  readonly maxConnections: number;
  /** Unauthenticated clients' handshakes need memory for keys and buffers. */
  readonly maxHandshakes: number;
  /** A TLS 1.3 client ends its handshake first; if the server pauses this long, the client's request is lost. */
  readonly handshakeMs: Millis;
  /** From the first byte to the end of the headers. */
  readonly headersMs: Millis;
  /** From the first byte to the end of the body. */
  readonly requestMs: Millis;
  /** Before and between requests. Go clients keep connections for 90 s; closing earlier would lose requests. */
  readonly idleMs: Millis;
  /** Of silence, before TCP probes the peer; a watch may be idle for hours. */
  readonly probeAfterMs: Millis;
  /** How late `headersMs` and `requestMs` may take effect. */
  readonly checkEveryMs: Millis;
}

/** Enough for 3 MiB in a minute; headers are a packet or two. */
export const defaultConnectionLimits: ConnectionLimits = {
  maxConnections: 10_000,
  maxHandshakes: 1000,
  // Like Kubernetes' limit, but 2 s less.
  handshakeMs: 30_000,
  headersMs: 30_000,
  requestMs: 60_000,
  idleMs: 125_000,
  probeAfterMs: 30_000,
  checkEveryMs: 5000,
};

/**
 * True for Node's timeout of a request on a connection that has not sent a byte of one. Clients open connections ahead
 * of their requests, and must not get an answer to one they never made. Node looks again once a request begins.
 */
export const isUnused = (error: Error, socket: Duplex): socket is Socket =>
  codeOf(error) === "ERR_HTTP_REQUEST_TIMEOUT" && socket instanceof Socket && socket.bytesRead === 0;

/** Beyond a limit, closes the connection that has been idle or in its handshake longest. O(1). */
export class Connections {
  readonly #limits: Pick<ConnectionLimits, "maxConnections" | "maxHandshakes">;
  /** The TCP sockets, from the start of the handshake. */
  readonly #open = new Set<Socket>();
  /** Sockets without a request, longest first, from the start of the handshake. */
  readonly #quiet = new Set<Socket>();
  /** Unfinished handshakes, oldest first. */
  readonly #handshakes = new Set<Socket>();
  readonly #byPeer = new Map<string, Socket>();
  /** The TCP socket of a TLS socket, found by its remote end, since Node does not expose it. */
  readonly #below = new WeakMap<Socket, Socket>();

  constructor(limits: Pick<ConnectionLimits, "maxConnections" | "maxHandshakes">) {
    this.#limits = limits;
  }

  opened(socket: Socket): void {
    const peer = peerOf(socket);
    this.#open.add(socket);
    this.#quiet.add(socket);
    this.#handshakes.add(socket);
    this.#byPeer.set(peer, socket);
    socket.once("close", () => {
      this.#open.delete(socket);
      this.#handshakes.delete(socket);
      this.#quiet.delete(socket);
      if (this.#byPeer.get(peer) === socket) this.#byPeer.delete(peer);
    });
    if (this.#open.size > this.#limits.maxConnections) dropFirst(this.#quiet);
    if (this.#handshakes.size > this.#limits.maxHandshakes) dropFirst(this.#handshakes);
  }

  /** Also cuts unfinished handshakes, which Node's server does not know of. */
  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }

  /** The handshake, if there is one, is complete; requests will use this socket. */
  secured(socket: Socket): void {
    const below = this.#byPeer.get(peerOf(socket));
    if (below === undefined) return;
    this.#below.set(socket, below);
    this.#handshakes.delete(below);
  }

  /** A request begins; call the returned function at its end. */
  busy(socket: Socket): () => void {
    const below = this.#below.get(socket);
    if (below === undefined) return () => undefined;
    this.#quiet.delete(below);
    return () => {
      if (!below.destroyed) this.#quiet.add(below);
    };
  }
}

/** The newest socket is always present. */
function dropFirst(sockets: ReadonlySet<Socket>): void {
  const [first] = sockets;
  first?.destroy();
}

const peerOf = (socket: Socket): string => `${socket.remoteAddress} ${socket.remotePort}`;
