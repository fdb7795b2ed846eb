import type { getRequestListener } from "@hono/node-server";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { constants, Http2ServerRequest, Http2ServerResponse, type ServerHttp2Stream } from "node:http2";
import type { IncomingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import type { Clock, Millis } from "#lib/base/index.ts";
import { type EntryRules, isAllowedPreflight, refusalOf } from "./entry.ts";
import { jsonText, problemOf, problemType, type RestRefusal, wantsIndent } from "./problem.ts";

export type Fetch = Parameters<typeof getRequestListener>[0];

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;
type Answer = (request: Request, response: Response) => void;

export interface RestLimits {
  /** For the headers. */
  readonly headersMs: Millis;
  /** Without a byte while one is due in either direction. */
  readonly silenceMs: Millis;
  readonly bodyMs: Millis;
  readonly idleMs: Millis;
  readonly clock: Clock;
}

const bodyPart = 64 * 1024;

/** Serves given connections and HTTP/2 streams. Idle answers may stay open; clients that owe bytes or do not read are
 * cut off. */
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
      // Uploads may take any time while bytes arrive: see `#expectBody`.
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
    this.#server.emit("listening");
    this.#server.setTimeout(silenceMs, (socket) => {
      if (owes(this.#last.get(socket), socket.writableLength)) socket.destroy();
    });
  }

  static async load(fetch: Fetch, rules: EntryRules, limits: RestLimits): Promise<RestServer> {
    const { getRequestListener: listen } = await import("@hono/node-server");
    const answer = listen(fetch, { overrideGlobalObjects: false });
    return new RestServer((request, response) => {
      // Clients that disconnect are no errors.
      request.on("error", () => undefined);
      response.on("error", () => undefined);
      const { method, url, headers } = request;
      const isPreflight = isAllowedPreflight(method, headers, rules);
      const refused = isPreflight ? undefined : refusalOf(headers, rules, { method, url });
      if (refused === undefined) void answer(request, response);
      else sendRefusal(request, response, refused);
    }, limits);
  }

  /** Bytes already received are still in the socket. */
  connect(socket: Socket): void {
    this.#server.emit("connection", socket);
  }

  take(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
    const request = new CountedRequest(stream, headers, {}, rawHeaders);
    stream.setTimeout(this.#silenceMs, () => {
      if (owes(request, stream.writableLength)) stream.close(constants.NGHTTP2_CANCEL);
    });
    this.#expectBody(request, () => stream.close(constants.NGHTTP2_CANCEL));
    this.#answer(request, new Http2ServerResponse(stream));
  }

  /** Cuts off slow bodies, unless this side is slow to read. */
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

  refuse(): void {
    this.#server.close();
    this.#server.closeIdleConnections();
  }

  kill(): void {
    this.#server.closeAllConnections();
  }
}

/** Counts its own body: an HTTP/2 connection carries others too. */
class CountedRequest extends Http2ServerRequest {
  bytes = 0;

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    this.bytes += chunk?.length ?? 0;
    return super.push(chunk, encoding);
  }
}

const owes = (request: Request | undefined, unsent: number): boolean =>
  request === undefined || !isWhole(request) || unsent > 0;

/** HTTP/2 requests without a body are complete only for a reader. */
const isWhole = (request: Request): boolean =>
  request.complete || (request instanceof Http2ServerRequest && request.stream.endAfterHeaders);

/** The request is unread, so the connection ends. */
function sendRefusal(request: Request, response: Response, refused: RestRefusal): void {
  const { url = "/", headers } = request;
  // The query may contain a mistyped token.
  const problem = problemOf(refused, url.replace(/\?.*/s, ""));
  const isHttp1 = request.httpVersionMajor === 1;
  const text = jsonText(problem, wantsIndent(url, headers["user-agent"]));
  const answer = response as ServerResponse;
  answer.writeHead(problem.status, {
    "content-type": problemType,
    "content-length": Buffer.byteLength(text),
    ...(problem.status === 401 ? { "www-authenticate": "Bearer" } : {}),
    ...(isHttp1 ? { connection: "close" } : {}),
  });
  answer.end(request.method === "HEAD" ? undefined : text);
}
