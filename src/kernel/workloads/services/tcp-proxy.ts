import { connect, createServer, type Server, type Socket } from "node:net";
import { type Millis } from "#lib/base/index.ts";
import { Balancer } from "./balance.ts";
import type { Endpoint } from "./endpoints.ts";

const mostConnections = 1024;
const mostTries = 4;
const patience: Millis = 3_000;

/** A loopback port whose connections go to endpoints. An endpoint that refuses is passed over. */
export class TcpProxy {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #endpoints: () => readonly Endpoint[];
  readonly #balancer = new Balancer();
  readonly #admits: (client: Socket) => Promise<boolean>;

  /** `admits` decides who is served; others are disconnected. */
  constructor(endpoints: () => readonly Endpoint[], admits: (client: Socket) => Promise<boolean>) {
    this.#endpoints = endpoints;
    this.#admits = admits;
    // The client may end its half before the answer is complete.
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => void this.#accept(client));
    this.#server.maxConnections = mostConnections;
  }

  /** Resolves with the port. Rejects if the wanted one, unless 0, is taken. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off("error", reject);
        this.#server.on("error", () => undefined);
        const address = this.#server.address();
        resolve(typeof address === "object" && address !== null ? address.port : port);
      });
    });
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
  }

  async #accept(client: Socket): Promise<void> {
    this.#keep(client);
    const isAdmitted = await this.#admits(client).catch(() => false);
    if (isAdmitted && !client.destroyed) this.#serve(client, new Set());
    else client.destroy();
  }

  #serve(client: Socket, tried: Set<string>): void {
    const endpoint = tried.size < mostTries ? this.#balancer.next(this.#endpoints(), tried) : undefined;
    if (endpoint === undefined) return void client.destroy();
    const upstream = connect({ host: endpoint.address, port: endpoint.port, allowHalfOpen: true });
    this.#keep(upstream);
    upstream.setTimeout(patience, () => upstream.destroy(new Error("no answer")));
    let isConnected = false;
    upstream.once("connect", () => {
      isConnected = true;
      upstream.setTimeout(0);
      client.pipe(upstream);
      upstream.pipe(client);
      client.resume();
    });
    upstream.on("error", () => undefined);
    upstream.once("close", () => {
      if (isConnected || client.destroyed) return void client.destroy();
      this.#serve(client, tried.add(endpoint.uid));
    });
    client.once("close", () => upstream.destroy());
  }

  #keep(socket: Socket): void {
    if (this.#open.has(socket)) return;
    this.#open.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => this.#open.delete(socket));
  }
}
