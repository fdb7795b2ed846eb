import type { getRequestListener } from "@hono/node-server";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { constants, Http2ServerRequest, Http2ServerResponse, type ServerHttp2Stream } from "node:http2";
import type { IncomingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import type { Clock, Millis } from "#lib/base/index.ts";
import { type EntryRules, isAllowedPreflight, refusalOf } from "./entry.ts";
import { jsonText, problemOf, problemType, type RestRefusal, wantsIndent } from "./problem.ts";

/** Answers requests; what a hono app has. */
export type Fetch = Parameters<typeof getRequestListener>[0];

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;
type Answer = (request: Request, response: Response) => void;

/** How patient a server is. */
export interface RestLimits {
  /** For the headers of a request. */
  readonly headersMs: Millis;
  /** Without a byte in either direction while one is owed: part of a request, or an answer that is not taken. */
  readonly silenceMs: Millis;
  /** For each 64 KiB of a body; a shorter one has to be whole by then. */
  readonly bodyMs: Millis;
  /** For the next request on a connection. */
  readonly idleMs: Millis;
  /** By which `bodyMs` is measured. */
  readonly clock: Clock;
}

/** What `bodyMs` is for. */
const bodyPart = 64 * 1024;

/**
 * REST over the connections that it is given, of HTTP/1.1 or streams of HTTP/2. Streams of answers that have nothing to say last as long as they
 * like; whoever owes bytes, or does not take them, is cut after a while.
 */
export class RestServer {
  readonly #server: Server;
  readonly #answer: Answer;
  readonly #silenceMs: Millis;
  readonly #bodyMs: Millis;
  readonly #clock: Clock;
  readonly #last = new WeakMap<Socket, Request>();

  private constructor(answer: Answer, { headersMs, silenceMs, bodyMs, idleMs, clock }: RestLimits) {
    this.#answer = answer;
    this.#silenceMs = silenceMs;
    this.#bodyMs = bodyMs;
    this.#clock = clock;
    this.#server = createServer({
      headersTimeout: headersMs,
      // Artifacts take as long as they take, as long as they come: see `#expectBody`.
      requestTimeout: 0,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: Math.min(headersMs / 2, 5000),
      maxHeaderSize: 16 * 1024,
    });
    this.#server.on("request", (request, response) => {
      this.#last.set(request.socket, request);
      this.#expectBody(request, () => request.socket.destroy());
      answer(request, response);
    });
    // It has no address, and would not look after its connections otherwise: nobody would be too late, and none idle.
    this.#server.emit("listening");
    this.#server.setTimeout(silenceMs, (socket) => {
      if (owes(this.#last.get(socket), socket.writableLength)) socket.destroy();
    });
  }

  /** Loads what answers. */
  static async load(fetch: Fetch, rules: EntryRules, limits: RestLimits): Promise<RestServer> {
    const { getRequestListener: listen } = await import("@hono/node-server");
    const answer = listen(fetch, { overrideGlobalObjects: false });
    return new RestServer((request, response) => {
      // Who goes away in the middle of it is no trouble of ours.
      request.on("error", () => undefined);
      response.on("error", () => undefined);
      const { method, url, headers } = request;
      const isPreflight = isAllowedPreflight(method, headers, rules);
      const refused = isPreflight ? undefined : refusalOf(headers, rules, { method, url });
      if (refused === undefined) void answer(request, response);
      else sendRefusal(request, response, refused);
    }, limits);
  }

  /** A connection of HTTP/1.1. What it has said already is still to be read from it. */
  connect(socket: Socket): void {
    this.#server.emit("connection", socket);
  }

  /** A request over HTTP/2, with its headers as they came. */
  take(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
    const request = new CountedRequest(stream, headers, {}, rawHeaders);
    stream.setTimeout(this.#silenceMs, () => {
      if (owes(request, stream.writableLength)) stream.close(constants.NGHTTP2_CANCEL);
    });
    this.#expectBody(request, () => stream.close(constants.NGHTTP2_CANCEL));
    this.#answer(request, new Http2ServerResponse(stream));
  }

  /** Cuts a request whose body comes in drops. One that this side is slow to read is not to blame. */
  #expectBody(request: Request, cut: () => void): void {
    const received = (): number => (request instanceof CountedRequest ? request.bytes : request.socket.bytesRead);
    let seen = received();
    const look = (): void => {
      if (isWhole(request)) return;
      if (request.readableLength === 0 && received() - seen < bodyPart) return cut();
      seen = received();
      cancel = this.#clock.after(this.#bodyMs, look);
    };
    let cancel = this.#clock.after(this.#bodyMs, look);
    request.once("close", () => cancel());
  }

  /** Takes no more requests; those that are being answered go on. */
  refuse(): void {
    this.#server.close();
    this.#server.closeIdleConnections();
  }

  /** Cuts what is left. */
  kill(): void {
    this.#server.closeAllConnections();
  }
}

/** Counts the bytes of its own body: on a connection of HTTP/2 there may be others. */
class CountedRequest extends Http2ServerRequest {
  bytes = 0;

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    this.bytes += chunk?.length ?? 0;
    return super.push(chunk, encoding);
  }
}

/** Somebody has not sent all of his request, or does not take what he is sent. */
const owes = (request: Request | undefined, unsent: number): boolean =>
  request === undefined || !isWhole(request) || unsent > 0;

/** A request of HTTP/2 that has no body is complete only for a reader, which there may be none of. */
const isWhole = (request: Request): boolean =>
  request.complete || (request instanceof Http2ServerRequest && request.stream.endAfterHeaders);

/** Without having read any of the request, so that it ends the connection. */
function sendRefusal(request: Request, response: Response, refused: RestRefusal): void {
  const { url = "/", headers } = request;
  // A query may hold a token that was mistyped, and refusals end up in logs.
  const problem = problemOf(refused, url.replace(/\?.*/s, ""));
  const isHttp1 = request.httpVersionMajor === 1;
  const text = jsonText(problem, wantsIndent(url, headers["user-agent"]));
  // The two kinds of response have the same methods, in types that do not meet.
  const answer = response as ServerResponse;
  answer.writeHead(problem.status, {
    "content-type": problemType,
    "content-length": Buffer.byteLength(text),
    ...(problem.status === 401 ? { "www-authenticate": "Bearer" } : {}),
    ...(isHttp1 ? { connection: "close" } : {}),
  });
  answer.end(request.method === "HEAD" ? undefined : text);
}
