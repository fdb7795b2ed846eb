import { Agent, request as httpsRequest } from "node:https";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { type Clock, silentLog, systemClock } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { type ApiServer, type ApiServerOptions, createApiServer } from "../api-server.ts";
import { ensureAdminToken } from "../authz/tokens.ts";
import { revocableUnit } from "../authz/client-certificate.ts";
import { type KeyPair, loadX509 } from "#kernel/doors/index.ts";
import { memoryStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";

/** An answer of the server, its body whole. */
export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** The body read as JSON; undefined when it is none. */
  // Tests look into answers of many shapes.
  readonly json: Json;
}

/** A JSON value seen loosely, for assertions. */
export type Json = Record<string, never> & { readonly [name: string]: Json };

export interface Ask {
  readonly body?: unknown;
  /** Sent as it is, without a type unless `headers` has one. */
  readonly bytes?: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** false: no credentials. */
  readonly token?: string | false;
}

export interface TestServer {
  readonly server: ApiServer;
  readonly store: Store;
  readonly client: ApiClient;
  readonly url: string;
  readonly token: string;
  readonly ca: string;
  /** A certificate of the server's authority, for tests of who is let in. */
  certify(user: string, groups: readonly string[], days?: number, isRevocable?: boolean): Promise<KeyPair>;
  readonly serving: KeyPair;
  ask(method: string, path: string, ask?: Ask): Promise<Answered>;
  /** Opens a watch; events are read one by one. */
  watch(path: string, headers?: Readonly<Record<string, string>>): Promise<TestWatch>;
  close(): Promise<void>;
}

export interface TestWatch {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The next event, or undefined when the watch has ended. */
  next(): Promise<Json | undefined>;
  close(): void;
}

let pki: Promise<{ readonly authority: KeyPair; readonly serving: KeyPair }> | undefined;

async function makePki() {
  const now = systemClock.now();
  const { createAuthority, createServing } = await loadX509();
  const authority = await createAuthority(now, "slipway-test");
  return { authority, serving: await createServing(authority, ["localhost", "127.0.0.1", "::1"], now) };
}

/** A whole server on a free loopback port, on a store in memory unless another is given. */
export async function startTestServer(
  options: Partial<ApiServerOptions> & { readonly clock?: Clock } = {},
): Promise<TestServer> {
  pki ??= makePki();
  const { authority, serving } = await pki;
  const clock = options.clock ?? systemClock;
  const store = options.store ?? memoryStore({ clock });
  const server = await createApiServer({ log: silentLog, version: "0.0.0", ...options, clock, store });
  const token = await ensureAdminToken(store);
  const listener = await server.listen({ port: 0, tls: { ...serving, ca: authority.cert } });
  const agent = new Agent({ ca: authority.cert, keepAlive: true, maxSockets: 64 });
  const send = (method: string, path: string, ask: Ask = {}) =>
    sendRequest(agent, listener.url, token, method, path, ask);
  return {
    server,
    store,
    client: server.client(),
    url: listener.url,
    token,
    ca: authority.cert,
    serving,
    async certify(user, groups, days, isRevocable = false) {
      const { createClient } = await loadX509();
      const unit = isRevocable ? revocableUnit : undefined;
      return createClient(authority, { user, groups, unit }, systemClock.now(), days);
    },
    ask: async (method, path, ask) => collect(await send(method, path, ask)),
    watch: async (path, headers = {}) => testWatch(await send("GET", path, { headers })),
    async close() {
      agent.destroy();
      await server.close();
      if (options.store === undefined) await store.close();
    },
  };
}

function sendRequest(agent: Agent, url: string, token: string, method: string, path: string, ask: Ask) {
  const body = ask.bytes ?? (ask.body === undefined ? undefined : JSON.stringify(ask.body));
  const credentials = ask.token === false ? {} : { Authorization: `Bearer ${ask.token ?? token}` };
  const type = ask.body === undefined ? {} : { "Content-Type": "application/json" };
  const length = body === undefined ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
  const headers = { ...credentials, ...type, ...length, ...ask.headers };
  const { hostname, port } = new URL(url);
  return new Promise<IncomingMessage>((resolve, reject) => {
    // Path and Host go out as they stand: tests ask for paths that a URL would clean up, and for other hosts.
    const request = httpsRequest({ agent, hostname, port, method, path, headers, servername: "localhost" }, resolve);
    request.on("error", reject);
    request.end(body);
  });
}

async function collect(response: IncomingMessage): Promise<Answered> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString("utf8");
  return { status: response.statusCode ?? 0, headers: response.headers, bytes, text, json: parse(text) };
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    // Not every answer is JSON; tests that expect one fail on what they look for.
    return {};
  }
}

function testWatch(response: IncomingMessage): TestWatch {
  const lines = linesOf(response);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    async next() {
      const line = await lines.next();
      return line.done === true ? undefined : (JSON.parse(line.value) as Json);
    },
    close: () => response.destroy(),
  };
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string, void> {
  let rest = "";
  for await (const chunk of response as AsyncIterable<Buffer>) {
    const parts = (rest + chunk.toString("utf8")).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}
