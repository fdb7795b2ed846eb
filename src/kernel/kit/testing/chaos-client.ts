import { refTo } from "../client/request-path.ts";
import { type Clock, type Millis, sleep, SlipwayError, type Random } from "#lib/base/index.ts";
import { ApiError, conflict, expired, type KubeObject, type ResourceType } from "#kernel/model/index.ts";
import type { ApiClient, Ref, WatchEvent, WatchOptions } from "../client/api-client.ts";

/** Probabilities per request or event; default 0. */
export interface ChaosFaults {
  readonly conflict: number;
  /** 410 for a watch from a revision, and for a continued list. */
  readonly expired: number;
  readonly tooMany: number;
  readonly internal: number;
  /** The request was done, but its answer was lost. */
  readonly lostAnswer: number;
  readonly latency: number;
  readonly endedWatch: number;
  readonly brokenWatch: number;
  readonly duplicateEvent: number;
}

export interface ChaosOptions {
  readonly clock: Clock;
  /** A seeded one makes the chaos repeatable. */
  readonly random: Random;
  readonly faults: Partial<ChaosFaults>;
  readonly maxLatency?: Millis;
}

export interface ChaosClient extends ApiClient {
  setFaults(faults?: Partial<ChaosFaults>): void;
  readonly happened: ReadonlyMap<keyof ChaosFaults, number>;
}

const repeatable = 4;

/** A change is a write that can meet a conflict. */
type Verb = "read" | "write" | "change";

/**
 * Wraps a client so that it fails as networks and servers do: a controller that works on a real cluster works on it.
 * Order of a request: latency, refusals (not done), the request, the lost answer (done). Logs, discovery and raw GETs
 * are spared.
 */
export function chaosClient(inner: ApiClient, options: ChaosOptions): ChaosClient {
  const chaos = new Chaos(options);
  return {
    happened: chaos.happened,
    setFaults: (faults = {}) => chaos.setFaults(faults),
    get: (ref, o) => chaos.around("read", ref, o?.signal, () => inner.get(ref, o)),
    list: (type, o) =>
      chaos.around("read", { type, name: "" }, o?.signal, () => {
        if (o?.continue !== undefined && chaos.strikes("expired")) throw expired("the continue token is too old");
        return inner.list(type, o);
      }),
    watch: (type, o) => chaos.watch(inner, type, o),
    create: (type, object, o) =>
      chaos.around("write", refTo(type, object), o?.signal, () => inner.create(type, object, o)),
    update: (type, object, o) =>
      chaos.around("change", refTo(type, object), o?.signal, () => inner.update(type, object, o)),
    updateStatus: (type, object, o) =>
      chaos.around("change", refTo(type, object), o?.signal, () => inner.updateStatus(type, object, o)),
    patch: (ref, patch, o) => chaos.around("change", ref, o?.signal, () => inner.patch(ref, patch, o)),
    delete: (ref, o) => chaos.around("write", ref, o?.signal, () => inner.delete(ref, o)),
    deleteCollection: (type, o) =>
      chaos.around("write", { type, name: "" }, o?.signal, () => inner.deleteCollection(type, o)),
    logs: (ref, o) => inner.logs(ref, o),
    artifact: (ref, digest, o) => inner.artifact(ref, digest, o),
    resourceType: (apiVersion, kind) => inner.resourceType(apiVersion, kind),
    resourceTypes: () => inner.resourceTypes(),
    raw: (path, o) => inner.raw(path, o),
    close: () => inner.close(),
  };
}

class Chaos {
  readonly happened = new Map<keyof ChaosFaults, number>();
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #maxLatency: Millis;
  #faults: Partial<ChaosFaults>;

  constructor(options: ChaosOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#maxLatency = options.maxLatency ?? 50;
    this.#faults = options.faults;
  }

  setFaults(faults: Partial<ChaosFaults>): void {
    this.#faults = faults;
  }

  /** A fault that is off does not draw, so that the order of draws stays. */
  strikes(fault: keyof ChaosFaults): boolean {
    const odds = this.#faults[fault] ?? 0;
    if (odds === 0 || this.#random() >= odds) return false;
    this.happened.set(fault, (this.happened.get(fault) ?? 0) + 1);
    return true;
  }

  async around<R>(verb: Verb, ref: Ref, signal: AbortSignal | undefined, run: () => Promise<R>): Promise<R> {
    await this.#delay(signal);
    this.#refuse(verb, ref);
    const answer = await run();
    if (verb !== "read" && this.strikes("lostAnswer"))
      throw new SlipwayError("connection-failed", "the connection broke before the answer came");
    return answer;
  }

  /** Never out of order, which no server is. */
  async *watch<T extends KubeObject>(
    inner: ApiClient,
    type: ResourceType,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>> {
    try {
      await this.#delay(options.signal);
    } catch {
      // An aborted watch returns.
      return;
    }
    this.#refuse("read", { type, name: "" });
    if (options.resourceVersion !== undefined && this.strikes("expired")) throw expired("the revision is too old");
    const recent: WatchEvent<T>[] = [];
    for await (const event of inner.watch<T>(type, options)) {
      await this.#delay(options.signal).catch(() => undefined);
      if (options.signal.aborted) return;
      yield event;
      recent.push(event);
      if (recent.length > repeatable) recent.shift();
      const repeated = recent[Math.floor(this.#random() * recent.length)];
      if (repeated !== undefined && this.strikes("duplicateEvent")) yield repeated;
      if (this.strikes("endedWatch")) return;
      if (this.strikes("brokenWatch")) throw new SlipwayError("connection-failed", "the connection broke");
    }
  }

  async #delay(signal: AbortSignal | undefined): Promise<void> {
    if (this.strikes("latency")) await sleep(this.#clock, Math.ceil(this.#random() * this.#maxLatency), signal);
  }

  #refuse(verb: Verb, ref: Ref): void {
    if (this.strikes("tooMany"))
      throw new ApiError("TooManyRequests", "too many requests, try again later", {
        details: { retryAfterSeconds: 1 },
      });
    if (this.strikes("internal")) throw new ApiError("InternalError", "something went wrong in the server");
    if (verb === "change" && this.strikes("conflict"))
      throw conflict(ref.type, ref.name, "it was changed by somebody else");
  }
}
