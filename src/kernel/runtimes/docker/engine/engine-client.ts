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

/** The oldest API that has what is used here (Docker 20.10), and the newest one this program was written against. */
const oldestApi = [1, 41] as const;
const newestApi = [1, 47] as const;

/** Connections that are kept for the next request. Streams have their own. */
const keptConnections = 8;

/** An answer is read whole into memory up to here; the list of all containers of a busy engine is a few MiB. */
const longestAnswer = 64 * 1024 * 1024;

/** What a request has besides its method and path. */
export interface EngineRequest {
  /** A list is the same name several times. */
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: EngineBody;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** What the engine is asked to wait for before it answers, such as the grace of a stop; how long it may take comes on top. */
  readonly lastsMs?: Millis;
}

// How long an engine may take for what ends by itself. One that is frozen still takes connections, and says nothing.
/** For what it knows. It locks a container while it works on it, on slow disks for a good while. */
const questionMs: Millis = 60_000;
/** For what it does: some storage drivers copy a whole image for a container. */
const changeMs: Millis = 300_000;

type Method = "GET" | "HEAD" | "POST" | "PUT" | "DELETE";

/**
 * Speaks to one Docker Engine over HTTP. Paths are without version, which is agreed on by the first call: the engine's own, within
 * the range above. Refusals are `EngineRefusal`, everything else that fails is `engine-unreachable`, also an answer that does not come in time; only
 * what is streamed, in either direction, takes as long as it takes. Requests are not repeated.
 */
export class EngineClient {
  readonly address: string;
  readonly #target: RequestOptions;
  readonly #request: typeof httpRequest;
  readonly #agent: Agent;
  readonly #clock: Clock;
  #version: Promise<string> | undefined;

  /** Reads the files of TLS at once; throws what the system says about them. */
  constructor(address: EngineAddress, clock: Clock) {
    this.#clock = clock;
    this.address = formatAddress(address);
    const { target, tls } = connectionTo(address);
    this.#target = target;
    this.#request = tls === undefined ? httpRequest : httpsRequest;
    const options = { keepAlive: true, maxFreeSockets: keptConnections };
    this.#agent = tls === undefined ? new Agent(options) : new TlsAgent({ ...options, ...tls });
  }

  /** One request; the answer's JSON, undefined when it has none. */
  async call(method: Method, path: string, options: EngineRequest = {}): Promise<JsonValue | undefined> {
    // Which has a limit of its own.
    await this.#agreed(options.signal);
    const text = await this.#inTime(method, path, options, async (limited) => {
      const response = await this.#open(method, path, limited, this.#agent);
      return (await this.#readAll(response)).toString("utf8");
    });
    return text.trim() === "" ? undefined : (JSON.parse(text) as JsonValue);
  }

  /** The same for answers that are one object; anything else is an empty one. */
  async object(method: Method, path: string, options: EngineRequest = {}): Promise<JsonObject> {
    const value = await this.call(method, path, options);
    return isJsonObject(value) ? value : {};
  }

  /** A question whose answer is all in its headers. */
  async headers(path: string, options: EngineRequest = {}): Promise<IncomingHttpHeaders> {
    await this.#agreed(options.signal);
    return await this.#inTime("HEAD", path, options, async (limited) => {
      const response = await this.#open("HEAD", path, limited, this.#agent);
      await this.#readAll(response);
      return response.headers;
    });
  }

  /**
   * A request whose answer is read as it comes, on a connection of its own. Resolves with its head; the caller reads the body to its
   * end, or destroys it.
   */
  stream(method: Method, path: string, options: EngineRequest = {}): Promise<IncomingMessage> {
    return this.#open(method, path, options, undefined);
  }

  /**
   * A POST after which the connection carries raw bytes in both directions. Resolves with that connection, which is the caller's from
   * then on and has not been read yet.
   */
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

  /** Ends the connections that are kept; streams go on. */
  close(): void {
    this.#agent.destroy();
  }

  /** A body that is still being made has no limit; whatever else is asked has. */
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
      // Who was reading the answer tells only that it broke off.
      limited.throwIfAborted();
      throw thrown;
    } finally {
      cancel();
    }
  }

  /** Waits for the version once. An answer of 400 or more becomes an `EngineRefusal` with the engine's own words. */
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

  /** Asked for once; an engine that says nothing is waited for no longer than the signal lets its caller. */
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

  /**
   * Resolves with the head of the answer, whatever its code. The signal ends the request with its own reason. An engine may answer, mostly
   * by refusing, before it has read all of a stream, which is then ended.
   */
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
      // The only word of what switches to another protocol.
      request.once("close", () => fail(new Error("the connection was closed without an answer")));
      if (source === undefined) request.end(payload);
      else pipeline(source.bytes(), request).catch(fail);
      // An engine that has answered need not read the rest, which nobody makes then.
      request.once("response", (response) =>
        response.once("end", () => {
          if (!request.writableFinished) request.destroy();
        }),
      );
    });
  }

  /** Connections of streams take no place among those that are kept. */
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

/** Names with a list stand there once for each of its values. */
function formatQuery(query: NonNullable<EngineRequest["query"]>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (typeof value === "string" ? [value] : value).map((one): [string, string] => [name, one]),
  );
  return new URLSearchParams(pairs).toString();
}

/** The engine says `{"message": "…"}`; what stands between may be a proxy that says anything. */
function refusalText(body: Buffer): string {
  const text = body.toString("utf8").trim();
  try {
    const value = JSON.parse(text) as JsonValue;
    if (isJsonObject(value) && typeof value["message"] === "string") return value["message"];
  } catch {
    // Told as it is.
  }
  return text.slice(0, 1024) || "the engine gave no reason";
}

/** What of an address node's own clients are told. */
interface Connection {
  readonly target: RequestOptions;
  readonly tls?: {
    readonly ca?: Buffer;
    readonly cert: Buffer;
    readonly key: Buffer;
    readonly rejectUnauthorized: boolean;
  };
}

/** The three files that `docker` itself reads from DOCKER_CERT_PATH. Unverified connections still show their own certificate. */
function connectionTo(address: EngineAddress): Connection {
  if (address.kind === "socket") return { target: { socketPath: address.path } };
  const target = { host: address.host, port: address.port };
  if (address.tls === undefined) return { target };
  const { folder, verifies } = address.tls;
  const read = (name: string) => readFileSync(`${folder}/${name}`);
  const keys = { cert: read("cert.pem"), key: read("key.pem"), rejectUnauthorized: verifies };
  return { target, tls: verifies ? { ...keys, ca: read("ca.pem") } : keys };
}
