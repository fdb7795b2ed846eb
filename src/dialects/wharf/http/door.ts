import type { Socket } from "node:net";
import { afterAwake, type Clock, type Logger, messageOf, type Millis, sleep, SlipwayError } from "#lib/base/index.ts";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { ApiError } from "#kernel/model/index.ts";
import { type ConnectionSource, RpcListener, RpcPort, type RpcService } from "#kernel/rpc/index.ts";
import { type EntryRules, isLoopbackAddress, refusalOf } from "./entry.ts";
import { jsonText, problemOf, problemType, refuse } from "./problem.ts";
import type { Fetch, RestLimits, RestServer } from "./rest-server.ts";

export interface Served {
  /** `app.fetch` of a hono app. */
  readonly fetch: Fetch;
  readonly services?: readonly RpcService[];
  /** Raw streams by path: `/wharf.worker.v1.Worker/StreamLogs`. */
  readonly streams?: ReadonlyMap<string, (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void>;
}

export interface HttpDoorOptions extends Omit<EntryRules, "isLoopback"> {
  readonly address: string;
  /** Loads what is served with the first connection; the signal aborts when the door closes. If it rejects, requests
   * get 503 and the next connection retries. */
  readonly serves: (closing: AbortSignal) => Promise<Served>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Time for running requests when the door closes; default: 1 s. */
  readonly drain?: Millis;
  readonly patience?: Partial<Patience>;
}

interface Patience {
  /** For the first bytes and for headers. */
  readonly headersMs: Millis;
  /** While bytes are due. */
  readonly silenceMs: Millis;
  readonly bodyMs: Millis;
}

const maxConnections = 1024;
/** Per HTTP/2 connection. */
const maxStreams = 256;
const idleMs: Millis = 60_000;

/** Rejects with `rpc-listen`. */
export async function openHttpDoor(options: HttpDoorOptions): Promise<HttpDoor> {
  const port = await RpcPort.open(options.address);
  const branch = new Branch(port.port);
  const door = new HttpDoor(options, port, branch);
  return await door.open();
}

/** REST over HTTP/1.1 and HTTP/2 and gRPC at one address. Must be closed. */
export class HttpDoor {
  readonly address: string;
  readonly port: number;
  readonly #options: HttpDoorOptions;
  readonly #rules: EntryRules;
  readonly #source: RpcPort;
  readonly #http2: Branch;
  readonly #closing = new AbortController();
  #open = 0;
  #onEmpty: (() => void) | undefined;
  #served: Promise<Behind> | undefined;
  #behind: Behind | undefined;
  /** Answers 503 while nothing is served. */
  #away: Promise<RestServer> | undefined;
  #why = "";
  #rpc: RpcListener | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: HttpDoorOptions, source: RpcPort, http2: Branch) {
    const { token, allowsAnonymous, takesTokenInQuery, origins } = options;
    const { host, port } = source;
    this.#options = options;
    this.#source = source;
    this.#http2 = http2;
    this.port = port;
    this.address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
    const isLoopback = isLoopbackAddress(host);
    this.#rules = {
      token,
      isLoopback,
      ...(allowsAnonymous === undefined ? {} : { allowsAnonymous }),
      ...(takesTokenInQuery === undefined ? {} : { takesTokenInQuery }),
      ...(origins === undefined ? {} : { origins }),
    };
    if (!isLoopback && token === undefined)
      options.log.warn("no token is required: every client that reaches this address is served", {
        address: this.address,
      });
  }

  async open(): Promise<HttpDoor> {
    const { clock, log, drain = 1000 } = this.#options;
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
    this.#source.serve((socket) => this.#sort(socket));
    return this;
  }

  /** Lets running requests finish for the drain time; idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #sort(socket: Socket): void {
    if (this.#open >= maxConnections) return void socket.destroy();
    this.#open++;
    socket.once("close", () => {
      this.#open--;
      if (this.#open === 0) this.#onEmpty?.();
    });
    readFirstBytes(socket, this.#options.clock, this.#headersMs, (protocol) => void this.#give(socket, protocol));
  }

  async #give(socket: Socket, protocol: "http1" | "http2"): Promise<void> {
    try {
      const { rest } = await this.#load();
      if (socket.destroyed) return;
      if (protocol === "http1") rest.connect(socket);
      else this.#http2.give(socket);
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

  #loadAway(): Promise<RestServer> {
    this.#away ??= this.#loadAwayNow().catch((thrown: unknown) => {
      this.#away = undefined;
      throw thrown;
    });
    return this.#away;
  }

  async #loadAwayNow(): Promise<RestServer> {
    const { RestServer } = await import("./rest-server.ts");
    return await RestServer.load((request) => this.#unavailable(request), this.#rules, this.#limits);
  }

  #unavailable(request: Request): Response {
    const problem = problemOf(refuse("service-unavailable", this.#why), new URL(request.url).pathname);
    const headers = { "content-type": problemType, connection: "close", "retry-after": "10" };
    return new Response(jsonText(problem, false), { status: problem.status, headers });
  }

  get #limits(): RestLimits {
    const { silenceMs = 120_000, bodyMs = 60_000 } = this.#options.patience ?? {};
    return { headersMs: this.#headersMs, silenceMs, bodyMs, idleMs, clock: this.#options.clock };
  }

  get #headersMs(): Millis {
    return this.#options.patience?.headersMs ?? 10_000;
  }

  #load(): Promise<Behind> {
    this.#served ??= this.#loadNow().catch((thrown: unknown) => {
      this.#served = undefined;
      throw thrown;
    });
    return this.#served;
  }

  async #loadNow(): Promise<Behind> {
    const [{ RestServer }, served] = await Promise.all([
      import("./rest-server.ts"),
      this.#options.serves(this.#closing.signal),
    ]);
    const rest = await RestServer.load(served.fetch, this.#rules, this.#limits);
    if (this.#closing.signal.aborted) rest.refuse();
    this.#behind = { served, rest };
    return this.#behind;
  }

  /** Takes all non-gRPC requests and own streams. */
  #takes(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): boolean {
    const behind = this.#behind;
    if (behind === undefined) return false;
    if (!isCall(headers)) {
      behind.rest.take(stream, headers, rawHeaders);
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
    this.#behind?.rest.refuse();
    this.#closing.abort();
    const patience = new AbortController();
    const wait = sleep(clock, drain, patience.signal).catch(() => undefined);
    await Promise.race([wait, Promise.all([this.#rpc?.close(), this.#isEmpty()])]);
    patience.abort();
    this.#behind?.rest.kill();
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
  readonly rest: RestServer;
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

export type Protocol = "http1" | "http2";

/** RFC 9113 3.4. No other protocol begins like this. */
const preface = Buffer.from("PRI * HTTP/2.0");

/** Calls `decide` with the protocol; the bytes stay in the socket. Destroys connections that send too little within
 * `limit`. */
export function readFirstBytes(
  socket: Socket,
  clock: Clock,
  limit: Millis,
  decide: (protocol: Protocol) => void,
): void {
  let seen = Buffer.alloc(0);
  const giveUp = (): void => void socket.destroy();
  // Pending bytes are read before the timeout counts.
  const cancel = afterAwake(clock, limit, giveUp);
  const look = (): void => {
    const more: Buffer | null = socket.read();
    if (more !== null) seen = Buffer.concat([seen, more]);
    if (seen.length === 0) return;
    const compared = Math.min(seen.length, preface.length);
    const isSame = seen.subarray(0, compared).equals(preface.subarray(0, compared));
    if (isSame && compared < preface.length) return;
    leave();
    socket.unshift(seen);
    decide(isSame ? "http2" : "http1");
  };
  const leave = (): void => {
    cancel();
    socket.off("readable", look).off("end", giveUp).off("close", leave);
  };
  socket.on("readable", look).on("end", giveUp).on("close", leave);
  look();
}
