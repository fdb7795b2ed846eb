import {
  type Agent as HttpAgent,
  Agent as PlainAgent,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as plainRequest,
  type RequestOptions,
} from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { type Clock, type Millis, onAbort } from "#lib/base/index.ts";
import type { ChannelSocket } from "#kernel/websocket/index.ts";
import type { Connection, Credential } from "./client-config.ts";
import { clientClosed, connectionError, malformedAnswer, requestTimedOut } from "./errors.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface HttpRequest {
  readonly method: Method;
  /** With its query, encoded. */
  readonly path: string;
  readonly accept?: string;
  readonly body?: { readonly type: string; readonly text: string };
  readonly signal?: AbortSignal;
  /** The answer has no end: no time limit, and a connection of its own. */
  readonly isStream?: boolean;
}

export interface UpgradeRequest {
  /** With its query, encoded. */
  readonly path: string;
  /** In order of preference. */
  readonly protocols: readonly string[];
  /** Ends the handshake only. */
  readonly signal?: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: IncomingMessage;
}

/** No answer of a Kubernetes API is larger. */
const maxBodyBytes = 256 * 2 ** 20;
/** Detects a server that is gone without a word. */
const keepAliveMs: Millis = 30_000;
/** Streams do not count. */
const maxConnections = 128;

/** Streams last, and must not keep requests waiting. */
interface Pools {
  readonly credential: Credential;
  readonly requests: HttpAgent;
  readonly streams: HttpAgent;
}

/** Sends requests over HTTP/1.1, without retries. A new client certificate gets new connections. */
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

  /** Resolves with the head; the body must be read to the end or destroyed. */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    const credential = await this.#credentialFor(request.signal);
    const options = this.#options(request, credential);
    return new Promise((resolve, reject) => {
      const sent = this.#url.protocol === "http:" ? plainRequest(options) : tlsRequest(options);
      const cut = (): void => void sent.destroy(clientClosed());
      const limit = this.#timeout;
      const cancel = request.isStream
        ? () => undefined
        : this.#clock.after(limit, () => sent.destroy(requestTimedOut(this.server, limit)));
      this.#open.add(cut);
      const removeListener = onAbort(request.signal, () => void sent.destroy(request.signal?.reason as Error));
      sent.once("response", (body: IncomingMessage) =>
        resolve({ status: body.statusCode ?? 0, headers: body.headers, body }),
      );
      sent.on("error", (thrown: unknown) => reject(this.explained(thrown, request.signal)));
      sent.once("close", () => {
        cancel();
        this.#open.delete(cut);
        removeListener();
        // The only sign of a server that switches to another protocol.
        reject(this.explained(new Error("the connection was closed without an answer"), request.signal));
      });
      sent.end(request.body?.text);
    });
  }

  /** A WebSocket, or the answer of a server that opens none. The caller owns the connection; `close` ends it too. */
  async upgrade({ path, protocols, signal }: UpgradeRequest): Promise<ChannelSocket | HttpAnswer> {
    // Loaded on demand: most clients never need it.
    const { connectWebSocket, NotUpgraded } = await import("#kernel/websocket/index.ts");
    const credential = await this.#credentialFor(signal);
    const ending = new AbortController();
    const cut = (): void => ending.abort(clientClosed());
    const limit = this.#timeout;
    const cancel = this.#clock.after(limit, () => ending.abort(requestTimedOut(this.server, limit)));
    const removeListener = onAbort(signal, () => ending.abort(signal?.reason));
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
      removeListener();
    }
  }

  /** Reading credentials may take long. */
  async #credentialFor(signal: AbortSignal | undefined): Promise<Credential> {
    this.#check(signal);
    const credential = await this.#connection.credentials.get(signal);
    this.#check(signal);
    return credential;
  }

  #check(signal: AbortSignal | undefined): void {
    if (this.#isClosed) throw clientClosed();
    signal?.throwIfAborted();
  }

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

  /** Translates a failure for people. */
  explained(thrown: unknown, signal?: AbortSignal): unknown {
    if (signal?.aborted) return signal.reason;
    if (this.#isClosed) return clientClosed();
    const isOurs = thrown instanceof Error && thrown.name === "SlipwayError";
    return isOurs ? thrown : connectionError(this.server, thrown);
  }

  close(): void {
    this.#isClosed = true;
    for (const cut of this.#open) cut();
    this.#pools?.requests.destroy();
    this.#pools?.streams.destroy();
  }

  /** Some clusters live below a path of the server. */
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

  /** Connections with a certificate serve only requests with that certificate. */
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
    // Requests in progress keep their connections.
    present?.requests.destroy();
    return this.#pools;
  }

  /** Kubernetes requires TLS 1.2. LIFO lets other connections go idle and close. */
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
