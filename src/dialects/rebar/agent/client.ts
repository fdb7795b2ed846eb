import { createHash } from "node:crypto";
import { Agent, request } from "node:https";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { connect, type TLSSocket } from "node:tls";
import {
  type Clock,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Millis,
  SlipwayError,
} from "#lib/base/index.ts";
import { type ModelError, Refused } from "../failure.ts";
import { EventStream } from "./event-stream.ts";

/** Which certificate of the server is accepted. The original's client accepts any. */
export type Trust =
  | { readonly kind: "any" }
  | { readonly kind: "authority"; readonly pem: string }
  /** SHA-256 of the certificate, in hexadecimal, with or without colons. */
  | { readonly kind: "pinned"; readonly fingerprint: string };

export type Credentials =
  | { readonly token: string }
  | { readonly user: string; readonly password: string; readonly usesTokens?: boolean };

export interface ClientOptions {
  /** `https://HOST:PORT`. */
  readonly endpoint: string;
  readonly credentials: Credentials;
  readonly trust: Trust;
  readonly clock: Clock;
}

export interface Call {
  /** In their order; repeated names are allowed. */
  readonly query?: readonly (readonly [string, string])[];
  readonly body?: JsonValue;
  /** Instead of `body`. */
  readonly bytes?: Uint8Array | AsyncIterable<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the server may be silent; two minutes by default. */
  readonly patience?: Millis;
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly json: JsonValue;
}

/** The part of a path after `/api/v3/`; values may contain slashes. */
export type Path = readonly string[];

const requestLimit: Millis = 120_000;
/** Tokens of users are renewed as often as the original's client does. */
const renewAfter: Millis = 300_000;
const tokenSeconds = 7_200;
const longestAnswer = 256 * 2 ** 20;

/** A session with `/api/v3`. Refusals are `Refused`, other failures `rebar-unreachable`. */
export class RebarClient {
  readonly endpoint: string;
  readonly #options: ClientOptions;
  readonly #agent: Agent;
  #renewed: { readonly token: string; readonly at: Millis } | undefined;

  /** Throws `rebar-endpoint`. */
  constructor(options: ClientOptions) {
    this.#options = options;
    this.endpoint = options.endpoint.replace(/\/+$/, "");
    if (!/^https:\/\/[^/\s]+$/.test(this.endpoint))
      throw new SlipwayError("rebar-endpoint", `expected https://HOST:PORT, found ${JSON.stringify(options.endpoint)}`);
    this.#agent = trustingAgent(options.trust);
  }

  async get(path: Path, signal: AbortSignal, query: Call["query"] = []): Promise<JsonValue> {
    return (await this.call("GET", path, { query, signal })).json;
  }

  async call(method: string, path: Path, call: Call): Promise<Answer> {
    const response = await this.open(method, path, call);
    const code = response.statusCode ?? 0;
    const text = (await wholeOf(response, this.endpoint)).toString("utf8");
    return { code, headers: response.headers, json: text.trim() === "" ? null : this.#parsed(text) };
  }

  /** The answer's body as a stream; the caller reads or destroys it. */
  async open(method: string, path: Path, call: Call): Promise<IncomingMessage> {
    const response = await this.#send(method, path, call, await this.#authorization(call.signal));
    const code = response.statusCode ?? 0;
    if (code < 400) return response;
    const text = (await wholeOf(response, this.endpoint)).toString("utf8");
    throw new Refused(refusalOf(method, path, code, response.statusMessage ?? "", text));
  }

  async events(signal: AbortSignal): Promise<EventStream> {
    const { clock } = this.#options;
    const authorization = await this.#authorization(signal);
    const headers = { authorization };
    const place = { url: `${this.endpoint}/api/v3/ws`, agent: this.#agent, headers, clock, signal };
    return await EventStream.open(place).catch((thrown: unknown) => {
      throw unreachable(this.endpoint, thrown);
    });
  }

  /** For programs that act for the same principal. */
  async token(signal: AbortSignal): Promise<string> {
    const { credentials, clock } = this.#options;
    if ("token" in credentials) return credentials.token;
    if (this.#renewed !== undefined && clock.monotonic() - this.#renewed.at < renewAfter) return this.#renewed.token;
    const { user } = credentials;
    const query = [["ttl", String(tokenSeconds)]] as const;
    const response = await this.#send("GET", ["users", user, "token"], { query, signal }, basic(credentials));
    const text = (await wholeOf(response, this.endpoint)).toString("utf8");
    const code = response.statusCode ?? 0;
    if (code >= 400)
      throw new Refused(refusalOf("GET", ["users", user, "token"], code, response.statusMessage ?? "", text));
    const answer = this.#parsed(text);
    const token = isJsonObject(answer) ? answer["Token"] : undefined;
    if (typeof token !== "string") throw unreachable(this.endpoint, new Error("it answered without a token"));
    this.#renewed = { token, at: clock.monotonic() };
    return token;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #authorization(signal: AbortSignal): Promise<string> {
    const { credentials } = this.#options;
    if ("user" in credentials && credentials.usesTokens === false) return basic(credentials);
    return `Bearer ${await this.token(signal)}`;
  }

  #parsed(text: string): JsonValue {
    try {
      return JSON.parse(text) as JsonValue;
    } catch (thrown) {
      throw unreachable(this.endpoint, thrown);
    }
  }

  #send(method: string, path: Path, call: Call, authorization: string): Promise<IncomingMessage> {
    const { query = [], body, bytes, headers = {}, patience = requestLimit, signal } = call;
    const search = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&");
    const url = `${this.endpoint}/api/v3/${path.map(escaped).join("/")}${search === "" ? "" : `?${search}`}`;
    const payload = bytes ?? (body === undefined ? undefined : Buffer.from(JSON.stringify(body)));
    const type = bytes === undefined ? "application/json" : "application/octet-stream";
    return new Promise((resolve, reject) => {
      const fail = (thrown: unknown) => reject(signal.aborted ? signal.reason : unreachable(this.endpoint, thrown));
      const sent = request(url, {
        method,
        agent: this.#agent,
        signal,
        headers: {
          accept: "application/json, application/octet-stream",
          authorization,
          ...headers,
          ...(payload === undefined ? {} : { "content-type": type }),
          ...(payload instanceof Uint8Array ? { "content-length": payload.length } : {}),
        },
      });
      sent.setTimeout(patience, () => sent.destroy(new Error("it does not answer")));
      sent.once("response", resolve);
      sent.once("error", fail);
      if (payload === undefined || payload instanceof Uint8Array) sent.end(payload);
      else void pour(payload, sent).catch((thrown: Error) => sent.destroy(thrown));
    });
  }
}

async function pour(bytes: AsyncIterable<Uint8Array>, into: NodeJS.WritableStream): Promise<void> {
  const { Readable } = await import("node:stream");
  const { pipeline } = await import("node:stream/promises");
  await pipeline(Readable.from(bytes), into);
}

/** Names of params contain slashes, which stay as they are. */
const escaped = (part: string): string => encodeURIComponent(part).replaceAll("%2F", "/").replaceAll("%3A", ":");

const basic = ({ user, password }: { readonly user: string; readonly password: string }): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

async function wholeOf(response: IncomingMessage, endpoint: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > longestAnswer) throw new Error(`its answer is larger than ${longestAnswer} bytes`);
      pieces.push(piece);
    }
  } catch (thrown) {
    throw unreachable(endpoint, thrown);
  }
  return Buffer.concat(pieces);
}

/** Servers answer with a model error, except where they refuse the credentials. */
function refusalOf(method: string, path: Path, code: number, reason: string, text: string): ModelError {
  try {
    const body: unknown = JSON.parse(text);
    if (isJsonObject(body) && Array.isArray(body["Messages"])) {
      const word = (name: string) => (typeof body[name] === "string" ? body[name] : "");
      const messages = body["Messages"].filter((message) => typeof message === "string");
      return { Model: word("Model"), Key: word("Key"), Type: word("Type"), Messages: messages, Code: code };
    }
  } catch {
    // Not JSON.
  }
  // An answer to HEAD has no body.
  if (method === "HEAD") return { Model: "", Key: "", Type: "CLIENT_ERROR", Messages: [reason], Code: code };
  const [Model = "", Key = ""] = path;
  return { Model, Key, Type: method, Messages: [text.trim() || `${code} ${reason}`], Code: code };
}

const unreachable = (endpoint: string, cause: unknown): unknown => {
  if (cause instanceof Refused) return cause;
  const words = cause instanceof Error ? cause.message : String(cause);
  return new SlipwayError("rebar-unreachable", `${endpoint}: ${words}`, { cause });
};

export const isUnreachable = (thrown: unknown): boolean =>
  thrown instanceof SlipwayError && thrown.code === "rebar-unreachable";

export const isRefused = (thrown: unknown, code: number): thrown is Refused =>
  thrown instanceof Refused && thrown.body.Code === code;

/** Checks a pinned certificate before anything is sent: with the handshake done, and before the request. */
function trustingAgent(trust: Trust): Agent {
  const keeping = { keepAlive: true, maxSockets: 16, maxFreeSockets: 2 } as const;
  if (trust.kind === "authority") return new Agent({ ...keeping, ca: trust.pem });
  const agent = new Agent({ ...keeping, rejectUnauthorized: false });
  if (trust.kind === "any") return agent;
  const wanted = trust.fingerprint.replaceAll(":", "").toLowerCase();
  type Done = (error: Error | null, socket?: TLSSocket) => void;
  const createConnection = (options: object, done: Done): undefined => {
    const socket: TLSSocket = connect({ ...options, rejectUnauthorized: false });
    socket.once("error", done);
    socket.once("secureConnect", () => {
      socket.off("error", done);
      const found = createHash("sha256").update(socket.getPeerCertificate().raw).digest("hex");
      if (found === wanted) return done(null, socket);
      socket.destroy();
      done(new Error(`expected the certificate ${wanted}, found ${found}`));
    });
  };
  return Object.assign(agent, { createConnection });
}

/** One object; rejects if it is none. The server's objects are complete, so that decoding one is free. */
export async function fetchObject<T extends object = JsonObject>(
  client: RebarClient,
  path: Path,
  signal: AbortSignal,
): Promise<T> {
  const found = await client.get(path, signal);
  if (isJsonObject(found)) return decoded<T>(found);
  throw unreachable(client.endpoint, new Error(`expected an object at ${path.join("/")}`));
}

/** An object of the server by its type: the server has checked it. */
export const decoded = <T extends object>(object: unknown): T => object as T;

/** Operations of a JSON patch. */
export const test = (path: string, value: JsonValue) => ({ op: "test", path, value });
export const replace = (path: string, value: JsonValue) => ({ op: "replace", path, value });
