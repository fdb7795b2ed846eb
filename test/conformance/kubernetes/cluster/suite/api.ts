import { type IncomingHttpHeaders, type IncomingMessage, type RequestOptions } from "node:http";
import { Agent, type AgentOptions, request as httpsRequest } from "node:https";
import { type Millis, silentLog, systemClock } from "#lib/base/index.ts";
import { type Connection, loadKubeconfig } from "#kernel/kit/index.ts";
import { within } from "#test/support/within.ts";

/** Raw requests to the server under test: what goes out and what comes back is not touched by any client. */
export interface Api {
  readonly url: string;
  ask(method: string, path: string, ask?: Ask): Promise<Answered>;
  /** The answer as soon as its head is there; its body is the caller's to read or to destroy. */
  send(method: string, path: string, ask?: Ask): Promise<IncomingMessage>;
  /** Events of a watch, each as it comes; ends with the watch. */
  watch(path: string, signal?: AbortSignal): Promise<Watch>;
  close(): void;
}

export interface Ask {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as they are. */
  readonly bytes?: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Without credentials. */
  readonly isAnonymous?: true;
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON, `{}` when it is none. */
  readonly json: Json;
}

/** A JSON value seen loosely, for assertions. */
export type Json = Record<string, never> & { readonly [name: string]: Json };

export interface WatchedEvent {
  readonly type: string;
  readonly object: Json;
}

export interface Watch {
  readonly status: number;
  /** Undefined when the watch has ended. Rejects when nothing comes within `limit`, a minute unless told. */
  next(limit?: Millis): Promise<WatchedEvent | undefined>;
  /** Events until one fits, that one included. */
  until(holds: (event: WatchedEvent) => boolean): Promise<readonly WatchedEvent[]>;
  close(): void;
}

/** Opens the way to the server of a kubeconfig, with connections of its own. */
export async function openApi(kubeconfig: string): Promise<Api> {
  const connection = await loadKubeconfig({
    files: [kubeconfig],
    environment: process.env,
    clock: systemClock,
    log: silentLog,
  });
  const { hostname, port, pathname } = new URL(connection.server);
  const base = pathname.replace(/\/$/, "");
  const { cert, key, ...tls } = await tlsOf(connection);
  const agent = new Agent({ keepAlive: true, maxSockets: 128, ...tls, ...(cert === undefined ? {} : { cert, key }) });
  // A certificate belongs to a connection, so whoever has no credentials has connections of his own.
  const stranger = new Agent({ keepAlive: true, maxSockets: 128, ...tls });
  const { token } = await connection.credentials.get();
  const send = (method: string, path: string, ask: Ask = {}) => {
    const body = ask.bytes ?? (ask.body === undefined ? undefined : JSON.stringify(ask.body));
    const headers = {
      ...(token === undefined || ask.isAnonymous === true ? {} : { Authorization: `Bearer ${token}` }),
      ...(ask.body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(body === undefined || isChunked(ask) ? {} : { "Content-Length": String(Buffer.byteLength(body)) }),
      ...ask.headers,
    };
    const { isAnonymous = false } = ask;
    const options = { agent: isAnonymous ? stranger : agent, hostname, port, method, path: `${base}${path}`, headers };
    return within(answerMs, `${method} ${path} is answered`, exchange(options, body));
  };
  return {
    url: connection.server,
    send,
    ask: async (method, path, ask) => collect(await send(method, path, ask)),
    watch: async (path, signal) => openWatch(path, await send("GET", path), signal),
    close() {
      agent.destroy();
      stranger.destroy();
    },
  };
}

/** Its length is not announced. */
const isChunked = ({ headers = {} }: Ask): boolean => headers["Transfer-Encoding"] === "chunked";

type ClientTls = Pick<AgentOptions, "ca" | "rejectUnauthorized" | "cert" | "key">;

async function tlsOf({ certificateAuthority, skipTlsVerify, credentials }: Connection): Promise<ClientTls> {
  const { certificate, key } = await credentials.get();
  return {
    ...(certificateAuthority === undefined ? {} : { ca: certificateAuthority }),
    ...(skipTlsVerify === true ? { rejectUnauthorized: false } : {}),
    ...(certificate === undefined || key === undefined ? {} : { cert: certificate, key }),
  };
}

const exchange = (options: RequestOptions, body: Buffer | string | undefined): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const request = httpsRequest(options, resolve);
    request.on("error", reject);
    request.end(body);
  });

/** What has not been answered by then hangs, on the busiest machine. */
const answerMs = 60_000;

async function collect(response: IncomingMessage): Promise<Answered> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  return { status: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return {};
  }
}

function openWatch(path: string, response: IncomingMessage, signal?: AbortSignal): Watch {
  const lines = linesOf(response);
  signal?.addEventListener("abort", () => response.destroy(), { once: true });
  let last = "nothing";
  const next = async (limit = answerMs) => {
    const line = await within(limit, `the next event of ${path}`, lines.next(), () => `so far came ${last}`);
    last = line.value ?? "the end";
    return line.done === true ? undefined : (JSON.parse(line.value) as WatchedEvent);
  };
  return {
    status: response.statusCode ?? 0,
    next,
    async until(holds) {
      const seen: WatchedEvent[] = [];
      for (;;) {
        const event = await next();
        if (event === undefined) throw new Error(`the watch has ended after ${seen.length} events`);
        seen.push(event);
        if (holds(event)) return seen;
      }
    },
    close: () => response.destroy(),
  };
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string, void> {
  let rest = "";
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const parts = (rest + chunk.toString("utf8")).split("\n");
      rest = parts.pop() ?? "";
      yield* parts;
    }
  } catch (thrown) {
    // Cut in the middle, by either side: no more events.
    if (!response.destroyed) throw thrown;
  }
}
