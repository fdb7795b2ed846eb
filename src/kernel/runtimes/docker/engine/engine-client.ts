import { readFileSync } from "node:fs";
import {
  Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
} from "node:http";
import { Agent as TlsAgent, request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  afterAwake,
  type Clock,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Millis,
  orAborted,
} from "#lib/base/index.ts";
import { type EngineAddress, formatAddress } from "./engine-address.ts";
import { type EngineBody, isStreamed, payloadOf } from "./engine-body.ts";
import { engineHangs, EngineRefusal, engineTooOld, engineUnreachable } from "./engine-errors.ts";

/** The oldest API with everything used here (Docker 20.10), and the newest one tested. */
const oldestApi = [1, 41] as const;
const newestApi = [1, 47] as const;

/** Streams have connections of their own. */
const keptConnections = 8;

/** The list of all containers of a busy engine is a few MiB. */
const longestAnswer = 64 * 1024 * 1024;

export interface EngineRequest {
  /** A list repeats the name. */
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: EngineBody;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** How long the engine is asked to wait before it answers, such as the grace of a stop; added to the limit. */
  readonly lastsMs?: Millis;
}

/** For queries: the engine locks a container while it works on it. A frozen engine still takes connections. */
const questionMs: Millis = 60_000;
/** For changes: some storage drivers copy a whole image for a container. */
const changeMs: Millis = 300_000;

type Method = "GET" | "HEAD" | "POST" | "PUT" | "DELETE";

/**
 * Speaks to one Docker Engine over HTTP. The first call negotiates the API version. Refusals are `EngineRefusal`; other
 * failures and timeouts are `engine-unreachable`. Streams have no limit. Requests are not retried.
 */
export class EngineClient {
  readonly address: string;
  readonly #target: RequestOptions;
  readonly #request: typeof httpRequest;
  readonly #agent: Agent;
  readonly #clock: Clock;
  #version: Promise<string> | undefined;

  /** Reads the TLS files; throws the system's errors. */
  constructor(address: EngineAddress, clock: Clock) {
    this.#clock = clock;
    this.address = formatAddress(address);
    const { target, tls } = connectionTo(address);
    this.#target = target;
    this.#request = tls === undefined ? httpRequest : httpsRequest;
    const options = { keepAlive: true, maxFreeSockets: keptConnections };
    this.#agent = tls === undefined ? new Agent(options) : new TlsAgent({ ...options, ...tls });
  }

  /** The answer's JSON, undefined if it has none. */
  async call(method: Method, path: string, options: EngineRequest = {}): Promise<JsonValue | undefined> {
    // It has a limit of its own.
    await this.#agreed(options.signal);
    const text = await this.#inTime(method, path, options, async (limited) => {
      const response = await this.#open(method, path, limited, this.#agent);
      return (await this.#readAll(response)).toString("utf8");
    });
    return text.trim() === "" ? undefined : (JSON.parse(text) as JsonValue);
  }

  /** Answers other than an object count as an empty one. */
  async object(method: Method, path: string, options: EngineRequest = {}): Promise<JsonObject> {
    const value = await this.call(method, path, options);
    return isJsonObject(value) ? value : {};
  }

  async headers(path: string, options: EngineRequest = {}): Promise<IncomingHttpHeaders> {
    await this.#agreed(options.signal);
    return await this.#inTime("HEAD", path, options, async (limited) => {
      const response = await this.#open("HEAD", path, limited, this.#agent);
      await this.#readAll(response);
      return response.headers;
    });
  }

  /** A streamed answer on a connection of its own. Read it to its end, or destroy it. */
  stream(method: Method, path: string, options: EngineRequest = {}): Promise<IncomingMessage> {
    return this.#open(method, path, options, undefined);
  }

  /** A POST that turns the connection into raw bytes in both directions. The connection is the caller's, and unread. */
  async hijack(path: string, options: EngineRequest = {}): Promise<Duplex> {
    const version = await this.#agreed(options.signal);
    const { headers, payload } = payloadOf(options.body);
    const request = this.#request({
      ...this.#target,
      agent: this.#ownAgent(),
      method: "POST",
      path: `/${version}${path}`,
      headers: { host: "docker", ...headers, connection: "Upgrade", upgrade: "tcp" },
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown) => {
        if (options.signal?.aborted === true) reject(options.signal.reason as Error);
        else reject(engineUnreachable(this.address, cause));
      };
      request.once("error", fail);
      request.once("upgrade", (_response, connection, head) => {
        if (head.length > 0) connection.unshift(head);
        resolve(connection);
      });
      request.once("response", (response) => {
        const code = response.statusCode ?? 500;
        this.#readAll(response).then((body) => reject(new EngineRefusal(code, refusalText(body))), fail);
      });
      request.end(payload);
    });
  }

  /** Ends kept connections; streams continue. */
  close(): void {
    this.#agent.destroy();
  }

  /** A streamed body has no limit. */
  async #inTime<T>(
    method: Method,
    path: string,
    options: EngineRequest,
    ask: (limited: EngineRequest) => Promise<T>,
  ): Promise<T> {
    if (isStreamed(options.body)) return await ask(options);
    const { signal, lastsMs = 0 } = options;
    const ms = (method === "GET" || method === "HEAD" ? questionMs : changeMs) + lastsMs;
    const limit = new AbortController();
    const cancel = afterAwake(this.#clock, ms, () => limit.abort(engineHangs(this.address, `${method} ${path}`, ms)));
    const limited = signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]);
    try {
      return await ask({ ...options, signal: limited });
    } catch (thrown) {
      // The reader only reports that the answer broke off.
      limited.throwIfAborted();
      throw thrown;
    } finally {
      cancel();
    }
  }

  /** An answer of 400 or more becomes an `EngineRefusal` with the engine's words. */
  async #open(
    method: Method,
    path: string,
    options: EngineRequest,
    agent: Agent | undefined,
  ): Promise<IncomingMessage> {
    const version = await this.#agreed(options.signal);
    const query = formatQuery(options.query ?? {});
    const response = await this.#send(method, `/${version}${path}${query === "" ? "" : `?${query}`}`, options, agent);
    if ((response.statusCode ?? 500) < 400) return response;
    throw new EngineRefusal(response.statusCode ?? 500, refusalText(await this.#readAll(response)));
  }

  #agreed(signal: AbortSignal | undefined): Promise<string> {
    this.#version ??= this.#agree();
    return orAborted(this.#version, signal);
  }

  /** A failure is not kept: the next call asks again. */
  async #agree(): Promise<string> {
    try {
      const response = await this.#inTime("GET", "/_ping", {}, async (limited) => {
        const answer = await this.#send("GET", "/_ping", limited, this.#agent);
        await this.#readAll(answer);
        return answer;
      });
      const found = String(response.headers["api-version"] ?? "1.0");
      const [major = 0, minor = 0] = found.split(".").map(Number);
      if (major < oldestApi[0] || (major === oldestApi[0] && minor < oldestApi[1]))
        throw engineTooOld(this.address, found);
      return `v${newestApi[0]}.${Math.min(minor, newestApi[1])}`;
    } catch (thrown) {
      this.#version = undefined;
      throw thrown;
    }
  }

  /** Resolves with any answer's head; the signal rejects. An early answer, mostly a refusal, ends the stream. */
  #send(method: Method, path: string, options: EngineRequest, agent: Agent | undefined): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const { signal } = options;
      const { headers, payload, source } = payloadOf(options.body);
      const fail = (cause: unknown) => {
        if (signal?.aborted === true) reject(signal.reason as Error);
        else if (source?.failure !== undefined) reject(source.failure.thrown);
        else reject(engineUnreachable(this.address, cause));
      };
      const request: ClientRequest = this.#request({
        ...this.#target,
        agent: agent ?? this.#ownAgent(),
        method,
        path,
        headers: { host: "docker", ...headers, ...options.headers },
        ...(signal === undefined ? {} : { signal }),
      });
      request.once("response", resolve);
      request.once("error", fail);
      // The only sign of a switch to another protocol.
      request.once("close", () => fail(new Error("the connection was closed without an answer")));
      if (source === undefined) request.end(payload);
      else pipeline(source.bytes(), request).catch(fail);
      // The engine need not read the rest once it has answered.
      request.once("response", (response) =>
        response.once("end", () => {
          if (!request.writableFinished) request.destroy();
        }),
      );
    });
  }

  #ownAgent(): Agent {
    return this.#agent instanceof TlsAgent ? new TlsAgent(this.#agent.options) : new Agent({ keepAlive: false });
  }

  async #readAll(response: IncomingMessage): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let length = 0;
    try {
      for await (const piece of response as AsyncIterable<Buffer>) {
        pieces.push(piece);
        length += piece.length;
        if (length > longestAnswer) throw new Error(`its answer is longer than ${longestAnswer} bytes`);
      }
    } catch (thrown) {
      throw engineUnreachable(this.address, thrown);
    }
    return Buffer.concat(pieces);
  }
}

function formatQuery(query: NonNullable<EngineRequest["query"]>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (typeof value === "string" ? [value] : value).map((one): [string, string] => [name, one]),
  );
  return new URLSearchParams(pairs).toString();
}

/** The engine says `{"message": "…"}`; a proxy may say anything. */
function refusalText(body: Buffer): string {
  const text = body.toString("utf8").trim();
  try {
    const value = JSON.parse(text) as JsonValue;
    if (isJsonObject(value) && typeof value["message"] === "string") return value["message"];
  } catch {
    // Shown as it is.
  }
  return text.slice(0, 1024) || "the engine gave no reason";
}

interface Connection {
  readonly target: RequestOptions;
  readonly tls?: {
    readonly ca?: Buffer;
    readonly cert: Buffer;
    readonly key: Buffer;
    readonly rejectUnauthorized: boolean;
  };
}

/** The three files that `docker` reads from DOCKER_CERT_PATH. Unverified connections present their certificate, too. */
function connectionTo(address: EngineAddress): Connection {
  if (address.kind === "socket") return { target: { socketPath: address.path } };
  const target = { host: address.host, port: address.port };
  if (address.tls === undefined) return { target };
  const { folder, verifies } = address.tls;
  const read = (name: string) => readFileSync(`${folder}/${name}`);
  const keys = { cert: read("cert.pem"), key: read("key.pem"), rejectUnauthorized: verifies };
  return { target, tls: verifies ? { ...keys, ca: read("ca.pem") } : keys };
}
