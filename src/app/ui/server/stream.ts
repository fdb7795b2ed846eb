import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { PageCall, PageCaller } from "#kernel/apiserver/index.ts";
import { ApiError, badRequest, isGone, tooManyRequests } from "#kernel/model/index.ts";
import { isJsonObject, type JsonObject, type Millis, objectsAt, onAbort, textAt, toError } from "#lib/base/index.ts";
import type { StreamLine, Subscription } from "../wire.ts";
import { type Cluster, refusalBehind } from "./cluster.ts";
import type { UiContext } from "./context.ts";
import { readJson, sendJson } from "./reply.ts";
import { followers } from "./followers.ts";
import type { Line } from "./following.ts";
import type { LogIndex } from "./logs.ts";

const mostSubscriptions = 100;
const mostStreamsOfUser = 50;
/** A reader that lets more wait is cut: it lists again when it is back. One line, a whole run, may be longer. */
const mostBacklogBytes = 4 * 1024 * 1024;
/** Tells both sides that the other is there. */
const heartbeatMs: Millis = 20_000;
/** How often a page looks whether the cluster behind it answers. */
const clusterMs: Millis = 5000;

/** All open streams. One request carries everything a page follows, because browsers open few connections. */
export class Streams {
  readonly #context: UiContext;
  readonly #logs: LogIndex;
  readonly #open = new Map<string, Stream>();

  constructor(context: UiContext, logs: LogIndex) {
    this.#context = context;
    this.#logs = logs;
  }

  /** `POST /stream`: the answer ends with the client, the session or the server. */
  async open(call: PageCall, caller: PageCaller): Promise<void> {
    const wanted = subscriptionsIn(await readJson(call.request));
    const { user } = caller.identity;
    if ([...this.#open.values()].filter((stream) => stream.user === user).length >= mostStreamsOfUser)
      throw tooManyRequests("streams");
    caller.openStream();
    const token = randomBytes(24).toString("base64url");
    const stream = new Stream(this.#context, this.#logs, call, caller);
    this.#open.set(token, stream);
    onAbort(call.signal(), () => {
      this.#open.delete(token);
      stream.close();
    });
    stream.begin(token, wanted);
  }

  /** `POST /stream/TOKEN`: what the stream carries from now on. */
  async change({ request, response }: PageCall, { identity }: PageCaller, token: string): Promise<void> {
    const wanted = subscriptionsIn(await readJson(request));
    const stream = this.#open.get(token);
    // Somebody else's stream is no stream.
    if (stream?.user !== identity.user) throw new ApiError("NotFound", "there is no such stream; open another one");
    stream.subscribe(wanted);
    sendJson(response, { subscriptions: wanted.length });
  }
}

class Stream {
  readonly user: string;
  readonly #context: UiContext;
  readonly #logs: LogIndex;
  readonly #caller: PageCaller;
  readonly #response: ServerResponse;
  readonly #running = new Map<string, { readonly text: string; readonly stop: AbortController }>();
  #cancelBeat: () => void = () => undefined;
  #longestBytes = 0;

  constructor(context: UiContext, logs: LogIndex, { response }: PageCall, caller: PageCaller) {
    this.#context = context;
    this.#logs = logs;
    this.#caller = caller;
    this.#response = response;
    this.user = caller.identity.user;
  }

  begin(token: string, wanted: readonly Subscription[]): void {
    this.#response.statusCode = 200;
    this.#response.setHeader("Content-Type", "application/x-ndjson");
    this.#response.flushHeaders();
    this.#write({ id: "", type: "HELLO", token });
    this.#beat();
    this.subscribe(wanted);
  }

  /** Starts new ones and ends those that are not named; the others go on. */
  subscribe(wanted: readonly Subscription[]): void {
    const ids = new Set(wanted.map(({ id }) => id));
    for (const id of this.#running.keys()) if (!ids.has(id)) this.#end(id);
    for (const one of wanted) {
      const text = JSON.stringify([one.what, one.params]);
      if (this.#running.get(one.id)?.text === text) continue;
      this.#end(one.id);
      this.#start(one, text);
    }
  }

  close(): void {
    this.#cancelBeat();
    for (const id of this.#running.keys()) this.#end(id);
    this.#response.end();
  }

  #start(subscription: Subscription, text: string): void {
    const { id, what } = subscription;
    const stop = new AbortController();
    this.#running.set(id, { text, stop });
    const emit = (line: Line): void => {
      if (!stop.signal.aborted) this.#write({ id, ...line });
    };
    const following = {
      context: this.#context,
      caller: this.#caller,
      logs: this.#logs,
      subscription,
      emit,
      signal: stop.signal,
    };
    followers[what](following).then(
      () => emit({ type: "END" }),
      (thrown: unknown) => {
        if (stop.signal.aborted) return;
        if (!isGone(thrown)) return emit({ type: "ERROR", object: statusOf(thrown, this.#context) });
        emit({ type: "GONE" });
      },
    );
  }

  #end(id: string): void {
    this.#running.get(id)?.stop.abort();
    this.#running.delete(id);
  }

  #beat(): void {
    const { clock, cluster } = this.#context;
    this.#cancelBeat = clock.after(cluster === undefined ? heartbeatMs : clusterMs, () => {
      if (cluster === undefined) this.#write({ id: "", type: "BOOKMARK" });
      else void this.#lookAt(cluster);
      this.#beat();
    });
  }

  /** A cluster that is away leaves the stream open, on which nothing changes any more: the reader is told. */
  async #lookAt(cluster: Cluster): Promise<void> {
    const away = await cluster.channel
      .json({ method: "GET", path: "/version", signal: AbortSignal.timeout(clusterMs) })
      .then(() => undefined)
      .catch((thrown: unknown) => (hasAnswered(thrown) ? undefined : toError(refusalBehind(thrown)).message));
    this.#write({ id: "", type: "BOOKMARK", ...(away === undefined ? {} : { object: { away } }) });
  }

  #write(line: StreamLine): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    if (this.#response.writableLength > mostBacklogBytes + this.#longestBytes) {
      this.#response.destroy();
      return;
    }
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    this.#longestBytes = Math.max(this.#longestBytes, bytes.length);
    this.#response.write(bytes);
  }
}

/** It may keep its version to itself. */
const hasAnswered = (thrown: unknown): boolean => thrown instanceof ApiError && [403, 404].includes(thrown.code);

/** Bugs are logged, and told without their inside. */
function statusOf(thrown: unknown, { log }: UiContext): unknown {
  const refusal = refusalBehind(thrown);
  if (refusal instanceof ApiError) return refusal.toStatus();
  log.error("stream failed", { error: toError(thrown) });
  return new ApiError("InternalError", "the server failed to follow this").toStatus();
}

function subscriptionsIn(body: JsonObject): readonly Subscription[] {
  if (!Array.isArray(body["subscriptions"])) throw badRequest("subscriptions: expected a list");
  const found = objectsAt(body, "subscriptions").map(subscriptionOf);
  if (found.length > mostSubscriptions)
    throw badRequest(`subscriptions: expected at most ${mostSubscriptions}, found ${found.length}`);
  if (new Set(found.map(({ id }) => id)).size < found.length) throw badRequest("subscriptions: two have the same id");
  return found;
}

const kinds: readonly string[] = Object.keys(followers);
const isKind = (what: string): what is Subscription["what"] => kinds.includes(what);

function subscriptionOf(one: JsonObject): Subscription {
  const [id, what = "", resourceVersion] = [textAt(one, "id"), textAt(one, "what"), textAt(one, "resourceVersion")];
  if (id === undefined || id.length > 200) throw badRequest("subscriptions: each has an id of at most 200 characters");
  if (!isKind(what)) throw badRequest(`subscriptions: what is one of ${kinds.join(", ")}, found "${what}"`);
  const params = isJsonObject(one["params"]) ? one["params"] : {};
  const texts = Object.entries(params).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []));
  return {
    id,
    what,
    params: Object.fromEntries(texts),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}
