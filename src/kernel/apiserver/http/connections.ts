import type { Socket } from "node:net";
import type { Millis } from "#lib/base/index.ts";

/** What a connection may take of a listener, and how long it may do nothing. */
export interface ConnectionLimits {
  /** Open at once, those without a request among them. Requests have limits of their own, far below. */
  readonly maxConnections: number;
  /**
   * In the middle of their TLS handshake, which takes memory for keys and buffers from whoever has shown no
   * credentials.
   */
  readonly maxHandshakes: number;
  /**
   * From the connection to the end of the TLS handshake. A client of TLS 1.3 is done with it before the server is, and
   * has sent its request: it loses that to a server that stands still for so long.
   */
  readonly handshakeMs: Millis;
  /** From the first byte of a request (for the first one: from the handshake) to the end of its headers. */
  readonly headersMs: Millis;
  /** From the first byte of a request to the end of its body. */
  readonly requestMs: Millis;
  /**
   * Between two requests. Go clients keep connections for 90 s; one that we close earlier loses the request they are
   * sending.
   */
  readonly idleMs: Millis;
  /**
   * Without a byte, before the system looks whether the other end is still there; a watch may have nothing to send for
   * hours.
   */
  readonly probeAfterMs: Millis;
  /** How often the two for requests are looked at: so much later they may end. */
  readonly checkEveryMs: Millis;
}

/** Headers come within a packet or two, and 3 MiB within a minute over the slowest line that is any use. */
export const defaultConnectionLimits: ConnectionLimits = {
  maxConnections: 10_000,
  maxHandshakes: 1000,
  // As Kubernetes, with two seconds less.
  handshakeMs: 30_000,
  headersMs: 30_000,
  requestMs: 60_000,
  idleMs: 125_000,
  probeAfterMs: 30_000,
  checkEveryMs: 5000,
};

/**
 * The open connections of a listener, so that whoever opens many of them keeps nobody out: beyond a limit the one that
 * has been without a request, or in its handshake, for the longest time gives way. It is told of connections and
 * requests; all of it takes constant time.
 */
export class Connections {
  readonly #limits: Pick<ConnectionLimits, "maxConnections" | "maxHandshakes">;
  /** Below TLS, from the start of the handshake on. */
  readonly #open = new Set<Socket>();
  /** Without a request, the longest first; from the start of the handshake on. */
  readonly #quiet = new Set<Socket>();
  /** Not secured yet, the oldest first. */
  readonly #handshakes = new Set<Socket>();
  readonly #byPeer = new Map<string, Socket>();
  /** The connection below a TLS socket. Node does not tell, but both know the other end. */
  readonly #below = new WeakMap<Socket, Socket>();

  constructor(limits: Pick<ConnectionLimits, "maxConnections" | "maxHandshakes">) {
    this.#limits = limits;
  }

  /** A connection was accepted; its handshake is still to come. */
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

  /**
   * Cuts all of them where they are, those in the middle of their handshake too, which Node's server does not know of
   * yet.
   */
  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }

  /** Its handshake is done: requests will come on this socket. */
  secured(socket: Socket): void {
    const below = this.#byPeer.get(peerOf(socket));
    if (below === undefined) return;
    this.#below.set(socket, below);
    this.#handshakes.delete(below);
  }

  /** A request begins on it; the function returned ends it. */
  busy(socket: Socket): () => void {
    const below = this.#below.get(socket);
    if (below === undefined) return () => undefined;
    this.#quiet.delete(below);
    return () => {
      if (!below.destroyed) this.#quiet.add(below);
    };
  }
}

/** There is always one: the newest. */
function dropFirst(sockets: ReadonlySet<Socket>): void {
  const [first] = sockets;
  first?.destroy();
}

const peerOf = (socket: Socket): string => `${socket.remoteAddress} ${socket.remotePort}`;
