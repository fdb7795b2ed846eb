import type { Socket } from "node:net";
import { type Clock, type Logger, messageOf, type Millis, sleep, SlipwayError } from "#lib/base/index.ts";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { ApiError } from "#kernel/model/index.ts";
import { type ConnectionSource, RpcListener, RpcPort, type RpcService } from "#kernel/rpc/index.ts";
import { Connections } from "./connections.ts";
import { type EntryRules, isLoopbackAddress, refusalOf } from "./entry.ts";
import { type Protocol, readFirstBytes } from "./first-bytes.ts";
import type { Answering, HttpLimits, HttpServer, HttpServerOptions, ObserveRequest } from "./http-server.ts";
import type { KeyPair } from "./x509.ts";
import { DoorRefusal, type FormRefusal, plainRefusal } from "./refusal.ts";

/** What is behind a door. */
export interface Served extends Answering {
  /** Without TLS only. */
  readonly services?: readonly RpcService[];
  /** Raw streams by path: `/package.Service/Method`. Without TLS only. */
  readonly streams?: ReadonlyMap<string, (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void>;
}

export interface DoorOptions extends Omit<EntryRules, "isLoopback"> {
  /** `host:port` with IPv6 in brackets and port 0 for any. */
  readonly address: string;
  /** Loads what is served with the first connection; the signal aborts when the door closes. If it rejects, requests
   * get 503 and the next connection retries. */
  readonly serves: (closing: AbortSignal) => Promise<Served>;
  /** HTTPS with HTTP/1.1 only. Default: HTTP/1.1, HTTP/2 and gRPC in clear text, told apart by their first bytes. */
  readonly tls?: KeyPair | undefined;
  /** The service identifies its callers itself; without it a door without a token lets everybody in, and warns. */
  readonly isIdentified?: boolean;
  /** How refusals are worded; default: JSON with `reason` and `message`. */
  readonly form?: FormRefusal;
  readonly observe?: ObserveRequest;
  readonly clock: Clock;
  readonly log: Logger;
  /** Time for running requests when the door closes; default: 1 s. */
  readonly drain?: Millis;
  readonly patience?: Partial<Patience>;
  readonly most?: Partial<DoorBounds>;
}

interface Patience {
  /** For the handshake, and for headers from their first byte; default: 30 s. */
  readonly headersMs: Millis;
  /** Before and between requests; default: 125 s, because Go clients keep connections for 90 s. */
  readonly idleMs: Millis;
  /** While bytes are due; default: 2 min. */
  readonly silenceMs: Millis;
  /** For each 64 KiB of a body; default: 1 min. */
  readonly bodyMs: Millis;
}

interface DoorBounds {
  /** Beyond it the connection that has been idle longest is closed. Default: 1024. */
  readonly connections: number;
  /** Under way; default: 1024. */
  readonly requests: number;
  /** Open WebSockets; default: 1024. They count as connections too. */
  readonly upgrades: number;
}

const usualMost: DoorBounds = { connections: 1024, requests: 1024, upgrades: 1024 };
/** Per HTTP/2 connection. */
const maxStreams = 256;

/** Opens a listener for a service; it loads nothing before the first connection. Rejects with `rpc-listen`. */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const port = await RpcPort.open(options.address);
  return await new Door(options, port, new Branch(port.port)).open();
}

/** REST, WebSockets and gRPC at one address. Must be closed. */
export class Door {
  readonly address: string;
  readonly port: number;
  readonly #options: DoorOptions;
  readonly #rules: EntryRules;
  readonly #source: RpcPort;
  readonly #http2: Branch;
  readonly #connections: Connections;
  readonly #closing = new AbortController();
  #open = 0;
  #onEmpty: (() => void) | undefined;
  #served: Promise<Behind> | undefined;
  #behind: Behind | undefined;
  /** Answers 503 while nothing is served. */
  #away: Promise<HttpServer> | undefined;
  #why = "";
  #rpc: RpcListener | undefined;
  #closed: Promise<void> | undefined;
  #tls: KeyPair | undefined;

  constructor(options: DoorOptions, source: RpcPort, http2: Branch) {
    const { token, allowsAnonymous, isOpen, takesTokenInQuery, origins, hosts } = options;
    const { host, port } = source;
    this.#options = options;
    this.#tls = options.tls;
    this.#source = source;
    this.#http2 = http2;
    const { connections } = this.#most;
    this.#connections = new Connections({ maxConnections: connections, maxHandshakes: connections });
    this.port = port;
    this.address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
    const isLoopback = isLoopbackAddress(host);
    this.#rules = {
      token,
      isLoopback,
      ...(allowsAnonymous === undefined ? {} : { allowsAnonymous }),
      ...(isOpen === undefined ? {} : { isOpen }),
      ...(hosts === undefined ? {} : { hosts }),
      ...(takesTokenInQuery === undefined ? {} : { takesTokenInQuery }),
      ...(origins === undefined ? {} : { origins }),
    };
    if (!isLoopback && token === undefined && options.isIdentified !== true)
      options.log.warn("no token is required: every client that reaches this address is served", {
        address: this.address,
      });
  }

  async open(): Promise<Door> {
    const { clock, log, drain = 1000, tls } = this.#options;
    if (tls !== undefined) {
      this.#source.serve((socket) => this.#admit(socket));
      return this;
    }
    this.#rpc = await RpcListener.start({
      address: this.#http2,
      services: async () => (await this.#load()).served.services ?? [],
      takes: (stream, headers, raw) => this.#takes(stream, headers, raw),
      keepalive: { time: 60_000, timeout: 20_000 },
      maxStreams,
      clock,
      log,
      drain,
    });
    this.#source.serve((socket) => this.#admit(socket));
    return this;
  }

  /** New connections get another certificate. Only with TLS. */
  renew(tls: KeyPair): void {
    this.#tls = tls;
    this.#behind?.http.renew(tls);
  }

  /** Lets running requests finish for the drain time; idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #admit(socket: Socket): void {
    this.#connections.opened(socket);
    this.#open++;
    socket.once("close", () => {
      this.#open--;
      if (this.#open === 0) this.#onEmpty?.();
    });
    // Who speaks TLS begins with a handshake, which has its own limit of time.
    if (this.#tls !== undefined) return void this.#give(socket, "http1");
    readFirstBytes(socket, this.#options.clock, this.#limits, (protocol) => void this.#give(socket, protocol));
  }

  async #give(socket: Socket, protocol: Protocol): Promise<void> {
    try {
      const { http } = await this.#load();
      if (socket.destroyed) return;
      if (this.#tls === undefined) this.#connections.secured(socket);
      if (protocol === "http1") return http.connect(socket);
      // Pings end it, when its client is gone.
      this.#connections.busy(socket);
      this.#http2.give(socket);
    } catch (thrown) {
      this.#options.log.error("loading the service failed", { address: this.address, error: messageOf(thrown) });
      if (socket.destroyed) return;
      // HTTP/2 clients retry when the connection ends.
      if (protocol === "http2") socket.destroy();
      else await this.#sayWhy(socket, thrown);
    }
  }

  /** Access rules apply. Internal errors are not shown. */
  async #sayWhy(socket: Socket, thrown: unknown): Promise<void> {
    this.#why =
      thrown instanceof ApiError || thrown instanceof SlipwayError ? thrown.message : "see the log of the server";
    try {
      const away = await this.#loadAway();
      if (this.#closing.signal.aborted) socket.destroy();
      else if (!socket.destroyed) away.connect(socket);
    } catch (failure) {
      // Loading the error server may fail for the same reason.
      this.#options.log.error("sending the error answer failed", { address: this.address, error: messageOf(failure) });
      socket.destroy();
    }
  }

  #loadAway(): Promise<HttpServer> {
    this.#away ??= this.#loadAwayNow().catch((thrown: unknown) => {
      this.#away = undefined;
      throw thrown;
    });
    return this.#away;
  }

  async #loadAwayNow(): Promise<HttpServer> {
    const { HttpServer } = await import("./http-server.ts");
    const answer = (): void => {
      throw new DoorRefusal("service-unavailable", this.#why, { headers: { "retry-after": "10" } });
    };
    return await HttpServer.load({ answer, upgrade: answer }, this.#serverOptions);
  }

  get #serverOptions(): HttpServerOptions {
    const { form = plainRefusal, observe, log } = this.#options;
    return {
      rules: this.#rules,
      limits: this.#limits,
      form,
      tls: this.#tls,
      observe,
      connections: this.#connections,
      log,
    };
  }

  get #limits(): HttpLimits {
    const { headersMs = 30_000, idleMs = 125_000, silenceMs = 120_000, bodyMs = 60_000 } = this.#options.patience ?? {};
    const { requests, upgrades } = this.#most;
    const { clock } = this.#options;
    return {
      headersMs,
      silenceMs,
      bodyMs,
      idleMs,
      clock,
      maxRequests: requests,
      maxUpgrades: upgrades,
    };
  }

  get #most(): DoorBounds {
    return { ...usualMost, ...this.#options.most };
  }

  #load(): Promise<Behind> {
    this.#served ??= this.#loadNow().catch((thrown: unknown) => {
      this.#served = undefined;
      throw thrown;
    });
    return this.#served;
  }

  async #loadNow(): Promise<Behind> {
    const [{ HttpServer }, served] = await Promise.all([
      import("./http-server.ts"),
      this.#options.serves(this.#closing.signal),
    ]);
    const http = await HttpServer.load(served, this.#serverOptions);
    if (this.#closing.signal.aborted) http.refuse();
    this.#behind = { served, http };
    return this.#behind;
  }

  /** Takes all non-gRPC requests and own streams. */
  #takes(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): boolean {
    const behind = this.#behind;
    if (behind === undefined) return false;
    if (!isCall(headers)) {
      behind.http.take(stream, headers, rawHeaders);
      return true;
    }
    const refused = refusalOf(headers, this.#rules);
    if (refused !== undefined) return refuseCall(stream, refused.kind === "unauthorized" ? 16 : 7, refused.message);
    const take = behind.served.streams?.get(String(headers[":path"]));
    take?.(stream, headers);
    return take !== undefined;
  }

  async #close(): Promise<void> {
    const { clock, drain = 1000 } = this.#options;
    this.#source.refuse();
    // Loading gets the same time as answers.
    this.#behind?.http.refuse();
    this.#closing.abort();
    const patience = new AbortController();
    const wait = sleep(clock, drain, patience.signal).catch(() => undefined);
    await Promise.race([wait, Promise.all([this.#rpc?.close(), this.#isEmpty()])]);
    patience.abort();
    this.#behind?.http.kill();
    const away = await this.#away?.catch(() => undefined);
    away?.refuse();
    away?.kill();
    await this.#rpc?.close();
    this.#source.close();
  }

  #isEmpty(): Promise<void> {
    return this.#open === 0 ? Promise.resolve() : new Promise((resolve) => void (this.#onEmpty = resolve));
  }
}

interface Behind {
  readonly served: Served;
  readonly http: HttpServer;
}

class Branch implements ConnectionSource {
  readonly port: number;
  #take: ((socket: Socket) => void) | undefined;

  constructor(port: number) {
    this.port = port;
  }

  serve(take: (socket: Socket) => void): void {
    this.#take = take;
  }

  give(socket: Socket): void {
    if (this.#take === undefined) socket.destroy();
    else this.#take(socket);
  }

  refuse(): void {
    this.#take = undefined;
  }

  close(): void {
    this.refuse();
  }
}

const isCall = (headers: IncomingHttpHeaders): boolean =>
  /^application\/grpc(?:$|[+;])/.test(headers["content-type"] ?? "");

/** A `Trailers-Only` answer of gRPC. */
function refuseCall(stream: ServerHttp2Stream, status: number, message: string): true {
  stream.on("error", () => undefined);
  // The client may already have canceled.
  if (stream.destroyed || stream.closed) return true;
  stream.respond(
    { ":status": 200, "content-type": "application/grpc", "grpc-status": status, "grpc-message": encodeURI(message) },
    { endStream: true },
  );
  return true;
}
