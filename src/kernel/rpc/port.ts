import { createServer, isIPv6, type Server, type Socket } from "node:net";
import { codeOf, messageOf, SlipwayError } from "#lib/base/index.ts";

/** How many connections may wait to be served; whoever comes when there are more is turned away. */
const maxWaiting = 1024;
/** How many may be open: connections need no credentials, and must not take all files that the process may open. */
const usualMaxOpen = 12_288;
/**
 * How many the system keeps until they are taken, as far as it lets us. Thousands come back in one moment after a restart, and with Node's 511
 * all others would be dropped without a word, to try again after one, three and seven seconds.
 */
const backlog = 16_384;

/** Where connections come from: an address, or what sorts out those of an address first. */
export interface ConnectionSource {
  /** The port that people connect to. */
  readonly port: number;
  /** From now on connections are `take`'s, those that wait first. Once only. */
  serve(take: (socket: Socket) => void): void;
  /** Gives no more connections; those that are open stay. */
  refuse(): void;
  /** Ends all connections. */
  close(): void;
}

/**
 * An address that is listened on. Whoever connects before it is served waits, so that it can be taken, or found taken, before anything that
 * answers there has been loaded.
 */
export class RpcPort implements ConnectionSource {
  readonly port: number;
  /** The address that the system has given. */
  readonly host: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #take: ((socket: Socket) => void) | undefined;

  readonly #maxOpen: number;

  private constructor(server: Server, maxOpen: number) {
    const bound = server.address();
    this.#server = server;
    this.#maxOpen = maxOpen;
    this.port = typeof bound === "object" && bound !== null ? bound.port : 0;
    this.host = typeof bound === "object" && bound !== null ? bound.address : "";
    server.on("connection", (socket) => this.#accept(socket));
  }

  /** `host:port`, IPv6 in brackets; port 0 is a free one. Rejects with `rpc-listen` when the address cannot be had. */
  static async open(address: string, maxOpen = usualMaxOpen): Promise<RpcPort> {
    const at = parseAddress(address);
    // As node:http2 has it, which answers on the connections: whoever has sent all of his question waits for the answer.
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    try {
      if (at === undefined) throw new Error("expected host:port");
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen({ ...at, backlog }, () => resolve());
      });
    } catch (thrown) {
      const why = codeOf(thrown) === "EADDRINUSE" ? "the port is in use" : messageOf(thrown);
      throw new SlipwayError("rpc-listen", `cannot listen on ${address}: ${why}`, { cause: thrown });
    }
    return new RpcPort(server, maxOpen);
  }

  serve(take: (socket: Socket) => void): void {
    this.#take = take;
    for (const socket of this.#sockets) take(socket);
  }

  refuse(): void {
    this.#server.close();
  }

  close(): void {
    this.refuse();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket): void {
    const most = this.#take === undefined ? maxWaiting : this.#maxOpen;
    if (this.#sockets.size >= most) return void socket.destroy();
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    // Who goes away while he waits is no trouble of ours.
    socket.on("error", () => undefined);
    this.#take?.(socket);
  }
}

/** Undefined for what is no address with a port. */
function parseAddress(address: string): { readonly host: string; readonly port: number } | undefined {
  const [, bracketed, plain = "", digits = ""] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(address) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === "" || digits === "" || port > 65_535 || (bracketed !== undefined && !isIPv6(bracketed)))
    return undefined;
  return { host, port };
}
