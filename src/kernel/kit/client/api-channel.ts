import {
  deepFreeze,
  isJsonObject,
  type JsonObject,
  type Millis,
  sleep,
  SlipwayError,
  backoffDelay,
  onAbort,
} from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import type { ChannelSocket } from "#kernel/websocket/index.ts";
import { type HttpClientConfig, isLocal } from "./client-config.ts";
import { malformedAnswer } from "./errors.ts";
import { type HttpAnswer, type HttpRequest, HttpTransport, type UpgradeRequest } from "./http-transport.ts";
import { refusalOf } from "./refused-answer.ts";
import { TokenBucket } from "./token-bucket.ts";

const maxTries = 5;
/** With jitter up to twice as long. */
const firstPause: Millis = 100;
const longestPause: Millis = 30_000;
const maxDepth = 1000;
/** The default of client-go for controllers; a burst is a start with many objects. */
const defaultLimit = { perSecond: 50, burst: 100 };

/** Safe to repeat after a broken connection: these change nothing, or are bound to a resourceVersion. */
const repeatable = new Set(["GET", "PUT"]);
/** The server says that it did not do the request; a proxy may say so of one that was done, hence no POST. */
const idempotent = new Set(["GET", "PUT", "DELETE"]);

/**
 * A connection to an API: refusals are ApiErrors, answers are JSON. Keeps to the client-side rate limit and retries up
 * to five times: GET and PUT after a broken connection (from 0.1 s, doubling, with jitter); GET, PUT and DELETE after
 * 429 or 503 with Retry-After (at most 30 s); any request once after 401 if credentials can be renewed. The request's
 * signal ends every wait.
 */
export class ApiChannel {
  readonly #config: HttpClientConfig;
  readonly #transport: HttpTransport;
  readonly #limit: TokenBucket | undefined;

  constructor(config: HttpClientConfig) {
    const { connection, clock, rateLimit, userAgent = "slipway", requestTimeoutMs = 60_000 } = config;
    this.#config = config;
    this.#transport = new HttpTransport(connection, { clock, userAgent, timeout: requestTimeoutMs });
    const limit = rateLimit ?? (isLocal(connection) ? false : defaultLimit);
    this.#limit = limit === false ? undefined : new TokenBucket(limit);
  }

  broken = (signal?: AbortSignal): unknown => this.#transport.explained(new Error("it ended in the middle"), signal);

  fail = (what: string): SlipwayError => malformedAnswer(this.#transport.server, what);

  /** The JSON object of a 2xx answer, deep-frozen. */
  async json(request: HttpRequest): Promise<JsonObject> {
    const text = await this.text(request);
    const parsed = parseJson(text, { maxDepth });
    if (!parsed.ok) throw this.fail(`a body that is no JSON (${parsed.error.message})`);
    if (!isJsonObject(parsed.value)) throw this.fail("a body that is no JSON object");
    return deepFreeze(parsed.value);
  }

  text(request: HttpRequest): Promise<string> {
    return this.#repeated(request, async (answer) => this.#transport.readText(answer, request.signal));
  }

  /** The body of a 2xx answer as a stream; destroy it when done. */
  stream(request: HttpRequest): Promise<AsyncIterable<Buffer> & { destroy(): void }> {
    return this.#repeated({ ...request, isStream: true }, (answer) => {
      const chunks = this.#chunks(answer, request.signal);
      return Promise.resolve({ [Symbol.asyncIterator]: () => chunks, destroy: () => void answer.body.destroy() });
    });
  }

  /** A 2xx answer. The caller reads its body to the end or destroys it. */
  open(request: HttpRequest): Promise<HttpAnswer> {
    return this.#repeated({ ...request, isStream: true }, async (answer) => answer);
  }

  /** Opens a WebSocket. Retried only after a 401: it may have begun something before the connection broke. */
  async upgrade(request: UpgradeRequest): Promise<ChannelSocket> {
    try {
      return await this.#upgradeOnce(request);
    } catch (thrown) {
      request.signal?.throwIfAborted();
      if (!isUnauthorized(thrown) || !this.#config.connection.credentials.refused()) throw thrown;
      return await this.#upgradeOnce(request);
    }
  }

  /** Ends open requests with `client-closed`. */
  close(): void {
    this.#transport.close();
  }

  /** The reader may stop at any time; the connection is then closed. */
  async *#chunks({ body }: HttpAnswer, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
    const removeListener = onAbort(signal, () => void body.destroy());
    try {
      if (signal?.aborted) return;
      yield* body as AsyncIterable<Buffer>;
    } catch (thrown) {
      throw this.#transport.explained(thrown, signal);
    } finally {
      removeListener();
      body.destroy();
    }
  }

  async #repeated<R>(request: HttpRequest, read: (answer: HttpAnswer) => Promise<R>): Promise<R> {
    let mayRefresh = true;
    for (let attempt = 1; ; attempt++) {
      try {
        return await read(await this.#once(request));
      } catch (thrown) {
        request.signal?.throwIfAborted();
        if (mayRefresh && isUnauthorized(thrown) && this.#config.connection.credentials.refused()) {
          mayRefresh = false;
          continue;
        }
        const pause = attempt >= maxTries ? undefined : this.#pauseAfter(request, thrown, attempt);
        if (pause === undefined) throw thrown;
        await sleep(this.#config.clock, pause, request.signal);
      }
    }
  }

  async #once(request: HttpRequest): Promise<HttpAnswer> {
    await this.#turn(request.signal);
    const answer = await this.#transport.send(request);
    if (answer.status >= 200 && answer.status < 300) return answer;
    throw await this.#refusal(answer, request.signal);
  }

  async #upgradeOnce(request: UpgradeRequest): Promise<ChannelSocket> {
    await this.#turn(request.signal);
    const answer = await this.#transport.upgrade(request);
    if (!("status" in answer)) return answer;
    if (answer.status >= 300) throw await this.#refusal(answer, request.signal);
    answer.body.destroy();
    throw this.fail("no WebSocket");
  }

  async #turn(signal: AbortSignal | undefined): Promise<void> {
    const wait = this.#limit?.reserve(this.#config.clock.monotonic()) ?? 0;
    if (wait > 0) await sleep(this.#config.clock, wait, signal);
  }

  async #refusal(answer: HttpAnswer, signal: AbortSignal | undefined): Promise<ApiError> {
    const body = await this.#transport.readText(answer, signal);
    return refusalOf(answer.status, body, answer.headers["retry-after"]);
  }

  /** The pause before the same request may be sent again; undefined if it may not. */
  #pauseAfter({ method }: HttpRequest, thrown: unknown, attempt: number): Millis | undefined {
    const doubled = backoffDelay(attempt, { first: firstPause, jitter: 1, random: this.#config.random });
    if (thrown instanceof ApiError) {
      const { retryAfterSeconds } = thrown.details;
      const mayComeBack = thrown.code === 429 || thrown.code === 503;
      if (!mayComeBack || retryAfterSeconds === undefined || !idempotent.has(method)) return undefined;
      return Math.min(longestPause, Math.max(retryAfterSeconds * 1000, doubled));
    }
    const isBroken = thrown instanceof SlipwayError && thrown.code === "connection-failed";
    return isBroken && repeatable.has(method) ? doubled : undefined;
  }
}

const isUnauthorized = (thrown: unknown): boolean => thrown instanceof ApiError && thrown.code === 401;
