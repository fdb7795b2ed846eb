import { createServer, isIPv6, type Server, type Socket } from "node:net";
import { codeOf, messageOf, SlipwayError } from "#lib/base/index.ts";

/** How many connections may wait to be served. */
const maxWaiting = 1024;
/** How many may be open: connections need no credentials, and must not use up all file descriptors. */
const usualMaxOpen = 12_288;
/** The system's queue. After a restart thousands of clients return; beyond Node's 511 they would be dropped. */
const backlog = 16_384;

/** An address, or one that sorts connections first. */
export interface ConnectionSource {
  readonly port: number;
  /** Waiting connections first. Once only. */
  serve(take: (socket: Socket) => void): void;
  /** Open connections stay. */
  refuse(): void;
  close(): void;
}

/** A listening address. Connections wait until it is served, so that the address is taken before anything is loaded. */
export class RpcPort implements ConnectionSource {
  readonly port: number;
  /** As bound by the system. */
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

  /** `host:port` with IPv6 in brackets and port 0 for any. Rejects with `rpc-listen`. */
  static async open(address: string, maxOpen = usualMaxOpen): Promise<RpcPort> {
    const at = parseAddress(address);
    // Like node:http2, which serves the connections: a client may close its side before the answer.
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
    // A waiting client may go away.
    socket.on("error", () => undefined);
    this.#take?.(socket);
  }
}

function parseAddress(address: string): { readonly host: string; readonly port: number } | undefined {
  const [, bracketed, plain = "", digits = ""] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(address) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === "" || digits === "" || port > 65_535 || (bracketed !== undefined && !isIPv6(bracketed)))
    return undefined;
  return { host, port };
}
