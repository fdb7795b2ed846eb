import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { constants, Http2ServerRequest, Http2ServerResponse, type ServerHttp2Stream } from "node:http2";
import type { IncomingHttpHeaders } from "node:http2";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Upgrade } from "#kernel/websocket/index.ts";
import { type Clock, codeOf, type Logger, type Millis, toError } from "#lib/base/index.ts";
import type { Exchange } from "./answers.ts";
import { type Connections, isUnused } from "./connections.ts";
import { type EntryRules, isAllowedPreflight, refusalOf } from "./entry.ts";
import { lastResponse } from "./last-response.ts";
import { DoorRefusal, type FormRefusal } from "./refusal.ts";
import type { KeyPair } from "./x509.ts";

export interface Answering {
  /** Over HTTP/2, too, in the shape of HTTP/1.1. Rejections are answered: with their refusal, or with 500. */
  readonly answer: (exchange: Exchange) => void | Promise<void>;
  /** Takes over a connection whose handshake as a WebSocket can be accepted, or throws. Default: all are refused. */
  readonly upgrade?: ((upgrade: Upgrade) => void | Promise<void>) | undefined;
}

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

export interface HttpLimits {
  /** For the handshake, and for headers from their first byte. */
  readonly headersMs: Millis;
  /** Without a byte while one is due in either direction. */
  readonly silenceMs: Millis;
  readonly bodyMs: Millis;
  /** Before and between requests. */
  readonly idleMs: Millis;
  readonly clock: Clock;
  readonly maxRequests: number;
  readonly maxUpgrades: number;
}

/** Called at the start of a request; the returned function at its end, with the status. */
export type ObserveRequest = (request: IncomingMessage) => (status: number) => void;

export interface HttpServerOptions {
  readonly rules: EntryRules;
  readonly limits: HttpLimits;
  readonly form: FormRefusal;
  readonly tls?: KeyPair | undefined;
  readonly observe?: ObserveRequest | undefined;
  readonly connections: Connections;
  readonly log: Logger;
}

const bodyPart = 64 * 1024;

/** Requests that Node refuses itself; other ones are not HTTP. */
const refusals: ReadonlyMap<string | undefined, number> = new Map([
  ["HPE_HEADER_OVERFLOW", 431],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", 413],
  ["ERR_HTTP_REQUEST_TIMEOUT", 408],
]);

/** Serves given connections, with or without TLS, and HTTP/2 streams. Idle answers may stay open; clients that owe
 * bytes or do not read are cut off. */
export class HttpServer {
  readonly #server: Server;
  readonly #renew: ((tls: KeyPair) => void) | undefined;
  readonly #answering: Answering;
  readonly #options: HttpServerOptions;
  readonly #last = new WeakMap<Duplex, Exchange>();
  #requests = 0;
  readonly #upgraded = new Set<Duplex>();

  static load(answering: Answering, options: HttpServerOptions): Promise<HttpServer> {
    return Promise.resolve(new HttpServer(answering, options));
  }

  private constructor(answering: Answering, options: HttpServerOptions) {
    const { limits, tls } = options;
    this.#answering = answering;
    this.#options = options;
    if (tls === undefined) this.#server = createServer(serverOptions(limits));
    else {
      const server = createTlsServer({
        ...serverOptions(limits),
        ...tls,
        minVersion: "TLSv1.2",
        handshakeTimeout: limits.headersMs,
        ALPNProtocols: ["http/1.1"],
      });
      // A failed handshake only concerns its client.
      server.on("tlsClientError", () => undefined);
      server.on("secureConnection", (socket) => options.connections.secured(socket));
      this.#renew = (pair) => server.setSecureContext({ ...pair, minVersion: "TLSv1.2" });
      this.#server = server;
    }
    this.#server.on("clientError", (error, socket) => this.#refuseProtocol(error, socket));
    this.#server.on("request", (request, response) => {
      this.#last.set(request.socket, { request, response });
      this.#expectBody(request, () => request.socket.destroy());
      this.#enter(request, response);
    });
    // Without the listener Node answers such a request like any other one.
    if (answering.upgrade !== undefined)
      this.#server.on(
        "upgrade",
        (request: IncomingMessage, socket, head) => void this.#upgrade({ request, socket, head }),
      );
    this.#server.emit("listening");
    this.#server.setTimeout(limits.silenceMs, (socket) => {
      const last = this.#last.get(socket);
      const isIdle = last === undefined || last.response.writableFinished;
      if (!this.#upgraded.has(socket) && (isIdle || owes(last.request, socket.writableLength))) socket.destroy();
    });
  }

  /** As Node does, except for connections that are idle. */
  #refuseProtocol(error: Error, socket: Duplex): void {
    if (isUnused(error, socket)) return;
    const last = this.#last.get(socket)?.response;
    const isAnswering = last?.headersSent === true && !last.writableFinished;
    const status = refusals.get(codeOf(error)) ?? 400;
    const isOfRequest = (codeOf(error) ?? "").startsWith("HPE_") || status !== 400;
    if (!isOfRequest || isAnswering || !socket.writable) socket.destroy();
    else socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`, () => socket.destroy());
  }

  /** Bytes already received are still in the socket. */
  connect(socket: Socket): void {
    this.#server.emit("connection", socket);
  }

  take(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
    const request = new CountedRequest(stream, headers, {}, rawHeaders);
    stream.setTimeout(this.#options.limits.silenceMs, () => {
      if (owes(request, stream.writableLength)) stream.close(constants.NGHTTP2_CANCEL);
    });
    this.#expectBody(request, () => stream.close(constants.NGHTTP2_CANCEL));
    this.#enter(request, new Http2ServerResponse(stream));
  }

  /** New connections get another certificate. Only with TLS. */
  renew(tls: KeyPair): void {
    this.#renew?.(tls);
  }

  refuse(): void {
    this.#server.close();
    this.#server.closeIdleConnections();
  }

  kill(): void {
    this.#server.closeAllConnections();
    for (const socket of this.#upgraded) socket.destroy();
  }

  #enter(request: Request, response: Response): void {
    // Clients that disconnect are no errors.
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    // Both kinds have the members that answers use.
    const exchange = { request: request as IncomingMessage, response: response as ServerResponse };
    response.once("close", this.#count(exchange));
    const refused = this.#refusalOf(request);
    if (refused === undefined) void this.#answer(exchange);
    else sendRefusal(exchange, refused, this.#options.form);
  }

  async #answer(exchange: Exchange): Promise<void> {
    try {
      await this.#answering.answer(exchange);
    } catch (thrown) {
      this.#fail(exchange, thrown);
    }
  }

  #fail(exchange: Exchange, thrown: unknown): void {
    const { log, form } = this.#options;
    const { request, response } = exchange;
    if (!(thrown instanceof DoorRefusal)) {
      const { message, stack } = toError(thrown);
      log.error("a request has failed", { method: request.method, path: pathOf(request.url), error: message, stack });
    }
    // A begun answer would look complete.
    if (response.headersSent) return void response.destroy();
    const refusal = thrown instanceof DoorRefusal ? thrown : new DoorRefusal("internal-error", "the server has failed");
    sendRefusal(exchange, refusal, form);
  }

  #refusalOf({ method, url, headers }: Request): DoorRefusal | undefined {
    const { rules, limits } = this.#options;
    if (isAllowedPreflight(method, headers, rules)) return undefined;
    const refused = refusalOf(headers, rules, { method, url });
    if (refused !== undefined || this.#requests <= limits.maxRequests) return refused;
    return new DoorRefusal("too-many-requests", `more than ${limits.maxRequests} requests are under way`, {
      headers: { "retry-after": "1" },
    });
  }

  #count({ request, response }: Exchange): () => void {
    this.#requests++;
    const { observe, connections } = this.#options;
    const observed = observe?.(request);
    const rest = connections.busy(request.socket);
    return () => {
      rest();
      this.#requests--;
      observed?.(response.statusCode);
    };
  }

  async #upgrade(upgrade: Upgrade): Promise<void> {
    const { request, socket } = upgrade;
    socket.on("error", () => undefined);
    const { asksForWebSocket, handshakeProblem } = await import("#kernel/websocket/index.ts");
    // Other protocols may be ignored (RFC 9110 7.8).
    if (!asksForWebSocket(request.headers)) return this.#enter(request, lastResponse(request, socket));
    try {
      const problem = handshakeProblem(request);
      if (problem !== undefined) throw new DoorRefusal("bad-upgrade", problem);
      const refused = this.#refusalOf(request) ?? this.#upgradeRefusal();
      if (refused !== undefined) throw refused;
      this.#upgraded.add(socket);
      this.#options.connections.busy(request.socket);
      const observed = this.#options.observe?.(request);
      socket.once("close", () => {
        this.#upgraded.delete(socket);
        observed?.(101);
      });
      await this.#answering.upgrade?.(upgrade);
    } catch (thrown) {
      if (!socket.destroyed) this.#fail({ request, response: lastResponse(request, socket) }, thrown);
    }
  }

  #upgradeRefusal(): DoorRefusal | undefined {
    const { maxUpgrades } = this.#options.limits;
    if (this.#upgraded.size < maxUpgrades) return undefined;
    return new DoorRefusal("too-many-requests", `more than ${maxUpgrades} WebSockets are open`);
  }

  /** Cuts off slow bodies, unless this side is slow to read. */
  #expectBody(request: Request, cut: () => void): void {
    const { clock, bodyMs } = this.#options.limits;
    const received = (): number => (request instanceof CountedRequest ? request.bytes : request.socket.bytesRead);
    let seen = received();
    const look = (): void => {
      if (isWhole(request)) return;
      if (request.readableLength === 0 && received() - seen < bodyPart) return cut();
      seen = received();
      cancel = clock.after(bodyMs, look);
    };
    let cancel = clock.after(bodyMs, look);
    request.once("close", () => cancel());
  }
}

const serverOptions = ({ headersMs, idleMs }: HttpLimits): ServerOptions => ({
  headersTimeout: headersMs,
  // Uploads may take any time while bytes arrive: see `#expectBody`.
  requestTimeout: 0,
  keepAliveTimeout: idleMs,
  connectionsCheckingInterval: Math.min(headersMs / 2, 5000),
  maxHeaderSize: 16 * 1024,
});

/** Counts its own body: an HTTP/2 connection carries others too. */
class CountedRequest extends Http2ServerRequest {
  bytes = 0;

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    this.bytes += chunk?.length ?? 0;
    return super.push(chunk, encoding);
  }
}

const owes = (request: Request, unsent: number): boolean => !isWhole(request) || unsent > 0;

/** HTTP/2 requests without a body are complete only for a reader. */
const isWhole = (request: Request): boolean =>
  request.complete || (request instanceof Http2ServerRequest && request.stream.endAfterHeaders);

const pathOf = (url = "/"): string => url.replace(/\?.*/s, "");

/** Answers a refused request, whose body is unread, so that its connection ends. */
export function sendRefusal({ request, response }: Exchange, refused: DoorRefusal, form: FormRefusal): void {
  const { url = "/" } = request;
  const { headers, body } = form(refused, { path: pathOf(url), url, headers: request.headers });
  response.writeHead(refused.status, {
    "content-length": Buffer.byteLength(body),
    ...refused.headers,
    ...headers,
    ...(request.httpVersionMajor === 1 ? { connection: "close" } : {}),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}
