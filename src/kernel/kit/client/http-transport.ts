import {
  type Agent as HttpAgent,
  Agent as PlainAgent,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as plainRequest,
  type RequestOptions,
} from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import type { Clock, Millis } from "#lib/base/index.ts";
import type { ChannelSocket } from "#kernel/websocket/index.ts";
import type { Connection, Credential } from "./client-config.ts";
import { clientClosed, connectionError, malformedAnswer, requestTimedOut } from "./errors.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** One request, without what the connection adds. */
export interface HttpRequest {
  readonly method: Method;
  /** With its query, already encoded. */
  readonly path: string;
  readonly accept?: string;
  readonly body?: { readonly type: string; readonly text: string };
  readonly signal?: AbortSignal;
  /** The answer has no end: no time limit, and a connection that nothing else waits for. */
  readonly isStream?: boolean;
}

/** What asks for a WebSocket. */
export interface UpgradeRequest {
  /** With its query, already encoded. */
  readonly path: string;
  /** Subprotocols, the preferred one first. */
  readonly protocols: readonly string[];
  /** Ends the handshake only. */
  readonly signal?: AbortSignal;
}

/** The head of an answer, and its body as it comes in. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: IncomingMessage;
}

/** No answer of a Kubernetes API is larger; lists are read in pages. What is larger is something else, and is not kept in memory. */
const maxBodyBytes = 256 * 2 ** 20;
/** When the first probe of an idle connection goes out: how a server that is gone without a word is found. */
const keepAliveMs: Millis = 30_000;
/** Requests at the same time; more wait for a free connection. Streams are not counted. */
const maxConnections = 128;

/** Streams have connections of their own: they last, and must not keep requests waiting for one. */
interface Pools {
  readonly credential: Credential;
  readonly requests: HttpAgent;
  readonly streams: HttpAgent;
}

/**
 * Sends requests over kept-alive connections, HTTP/1.1. Every failure to get an answer is a SlipwayError, or the signal's reason. Each
 * request asks its credentials anew; a new client certificate gets new connections. Nothing is repeated here.
 */
export class HttpTransport {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #timeout: Millis;
  readonly #userAgent: string;
  readonly #url: URL;
  readonly #open = new Set<() => void>();
  #pools: Pools | undefined;
  #isClosed = false;

  constructor(
    connection: Connection,
    options: { readonly clock: Clock; readonly timeout: Millis; readonly userAgent: string },
  ) {
    this.#connection = connection;
    this.#clock = options.clock;
    this.#timeout = options.timeout;
    this.#userAgent = options.userAgent;
    this.#url = new URL(connection.server);
  }

  get server(): string {
    return this.#connection.server;
  }

  /** Resolves with the head of the answer; its body must be read to the end or destroyed. */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    const credential = await this.#credentialFor(request.signal);
    const options = this.#options(request, credential);
    return new Promise((resolve, reject) => {
      const sent = this.#url.protocol === "http:" ? plainRequest(options) : tlsRequest(options);
      const abort = (): void => void sent.destroy(request.signal?.reason as Error);
      const cut = (): void => void sent.destroy(clientClosed());
      const limit = this.#timeout;
      const cancel = request.isStream
        ? () => undefined
        : this.#clock.after(limit, () => sent.destroy(requestTimedOut(this.server, limit)));
      const end = (): void => {
        cancel();
        this.#open.delete(cut);
        request.signal?.removeEventListener("abort", abort);
      };
      this.#open.add(cut);
      request.signal?.addEventListener("abort", abort, { once: true });
      sent.once("response", (body: IncomingMessage) =>
        resolve({ status: body.statusCode ?? 0, headers: body.headers, body }),
      );
      sent.on("error", (thrown: unknown) => reject(this.explained(thrown, request.signal)));
      sent.once("close", () => {
        end();
        // The only word of a server that switches to another protocol: there is no error, and no time limit of what is closed.
        reject(this.explained(new Error("the connection was closed without an answer"), request.signal));
      });
      sent.end(request.body?.text);
    });
  }

  /**
   * A WebSocket instead of an answer, or the answer of a server that opens none, as `send` has it. The connection belongs to the caller, who
   * starts it; `close` ends it too.
   */
  async upgrade({ path, protocols, signal }: UpgradeRequest): Promise<ChannelSocket | HttpAnswer> {
    // Loaded by those who need it: most clients never do.
    const { connectWebSocket, NotUpgraded } = await import("#kernel/websocket/index.ts");
    const credential = await this.#credentialFor(signal);
    const ending = new AbortController();
    const abort = (): void => ending.abort(signal?.reason);
    const cut = (): void => ending.abort(clientClosed());
    const limit = this.#timeout;
    const cancel = this.#clock.after(limit, () => ending.abort(requestTimedOut(this.server, limit)));
    signal?.addEventListener("abort", abort, { once: true });
    this.#open.add(cut);
    try {
      const { headers, agent } = this.#options({ method: "GET", path, isStream: true }, credential);
      const opened = await connectWebSocket({
        url: this.#webSocketUrl(path),
        protocols,
        headers,
        agent,
        clock: this.#clock,
        signal: ending.signal,
      });
      this.#own(opened);
      return opened;
    } catch (thrown) {
      if (thrown instanceof NotUpgraded)
        return { status: thrown.answer.statusCode ?? 0, headers: thrown.answer.headers, body: thrown.answer };
      throw this.explained(thrown, ending.signal);
    } finally {
      cancel();
      this.#open.delete(cut);
      signal?.removeEventListener("abort", abort);
    }
  }

  /** They may take a while, in which the request may be given up, or the client be closed. */
  async #credentialFor(signal: AbortSignal | undefined): Promise<Credential> {
    this.#check(signal);
    const credential = await this.#connection.credentials.get(signal);
    this.#check(signal);
    return credential;
  }

  /** Throws why nothing is to be sent. */
  #check(signal: AbortSignal | undefined): void {
    if (this.#isClosed) throw clientClosed();
    signal?.throwIfAborted();
  }

  /** Ends with the client. */
  #own(opened: ChannelSocket): void {
    const cut = (): void => opened.cut();
    this.#open.add(cut);
    void opened.closed.then(() => this.#open.delete(cut));
  }

  #webSocketUrl(path: string): string {
    const { socketPath } = this.#connection;
    const whole = `${this.#url.pathname.replace(/\/$/, "")}${path}`;
    return socketPath === undefined ? `${this.#url.origin}${whole}` : `ws+unix:${socketPath}:${whole}`;
  }

  /** The whole body as text, at most 256 MiB. A body that ends too early is an error. */
  async readText({ body }: HttpAnswer, signal?: AbortSignal): Promise<string> {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > maxBodyBytes) throw malformedAnswer(this.server, `more than ${maxBodyBytes} bytes`);
        chunks.push(chunk);
      }
    } catch (thrown) {
      throw this.explained(thrown, signal);
    }
    return Buffer.concat(chunks).toString();
  }

  /** What broke a request, in words a person can use. */
  explained(thrown: unknown, signal?: AbortSignal): unknown {
    if (signal?.aborted) return signal.reason;
    if (this.#isClosed) return clientClosed();
    const isOurs = thrown instanceof Error && thrown.name === "SlipwayError";
    return isOurs ? thrown : connectionError(this.server, thrown);
  }

  /** Ends all requests and connections. */
  close(): void {
    this.#isClosed = true;
    for (const cut of this.#open) cut();
    this.#pools?.requests.destroy();
    this.#pools?.streams.destroy();
  }

  /** The path of the server's address goes before that of the request: some clusters live below one. */
  #options(request: HttpRequest, credential: Credential) {
    const { socketPath } = this.#connection;
    const pools = this.#poolsFor(credential);
    return {
      method: request.method,
      path: `${this.#url.pathname.replace(/\/$/, "")}${request.path}`,
      headers: this.#headers(request, credential),
      agent: request.isStream ? pools.streams : pools.requests,
      ...(socketPath === undefined
        ? { host: this.#url.hostname.replace(/^\[(.*)\]$/, "$1"), port: this.#url.port }
        : { socketPath }),
    } satisfies RequestOptions;
  }

  /**
   * A credential has a token or a password, not both. Impersonation goes with every request and needs the right `impersonate` on the
   * server.
   */
  #headers(request: HttpRequest, { token, basic }: Credential): OutgoingHttpHeaders {
    const { impersonate } = this.#connection;
    const { body } = request;
    return {
      accept: request.accept ?? "application/json",
      "user-agent": this.#userAgent,
      host: this.#url.host,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(basic === undefined ? {} : { authorization: `Basic ${base64(`${basic.username}:${basic.password}`)}` }),
      ...(body === undefined
        ? {}
        : { "content-type": body.type, "content-length": String(Buffer.byteLength(body.text)) }),
      ...(impersonate === undefined ? {} : { "impersonate-user": impersonate.user }),
      ...(impersonate?.uid === undefined ? {} : { "impersonate-uid": impersonate.uid }),
      ...(impersonate?.groups === undefined ? {} : { "impersonate-group": [...impersonate.groups] }),
    };
  }

  /** Connections authenticated by a certificate serve requests with that certificate only. */
  #poolsFor(credential: Credential): Pools {
    const present = this.#pools;
    if (
      present?.credential.certificate === credential.certificate &&
      present?.credential.key === credential.key &&
      present
    )
      return present;
    this.#pools = {
      credential,
      requests: this.#agent(credential, maxConnections),
      streams: this.#agent(credential, Infinity),
    };
    // Requests under way keep their connections; idle ones are of no use any more.
    present?.requests.destroy();
    return this.#pools;
  }

  /**
   * TLS 1.2 at the least, as Kubernetes demands. The connection used last is taken first, so that the others can go idle and
   * close.
   */
  #agent({ certificate, key }: Credential, maxSockets: number): HttpAgent {
    const common = {
      keepAlive: true,
      keepAliveMsecs: keepAliveMs,
      maxSockets,
      maxFreeSockets: 32,
      scheduling: "lifo",
    } as const;
    if (this.#url.protocol === "http:") return new PlainAgent(common);
    const { certificateAuthority, skipTlsVerify, tlsServerName } = this.#connection;
    return new TlsAgent({
      ...common,
      minVersion: "TLSv1.2",
      rejectUnauthorized: skipTlsVerify !== true,
      ...(certificateAuthority === undefined ? {} : { ca: certificateAuthority }),
      ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
      ...(certificate === undefined ? {} : { cert: certificate }),
      ...(key === undefined ? {} : { key }),
    });
  }
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");
