import {
  type Clock,
  type Logger,
  messageOf,
  type Millis,
  sleep,
  type Random,
  backoffDelay,
  type Cancel,
  onAbort,
} from "#lib/base/index.ts";
import {
  ApiError,
  isForbidden,
  isGone,
  isTransient,
  type KubeObject,
  keyOf,
  type ResourceType,
  type Stored,
} from "#kernel/model/index.ts";
import type { ApiClient, WatchEvent, WatchOptions } from "../client/api-client.ts";
import { isAtLeast } from "../client/resource-version.ts";

export interface Scope {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Receives the state of the server and then every change, in order. Called synchronously; must not throw. */
export interface ReflectorSink<T extends KubeObject = KubeObject> {
  /** The whole state at a revision. */
  replace(objects: readonly Stored<T>[], resourceVersion: string): void;
  apply(event: WatchEvent<T> & { readonly type: "ADDED" | "MODIFIED" | "DELETED" }): void;
  /** Nothing else has changed up to this revision. */
  passed(resourceVersion: string): void;
  /** The server refuses reading, and is asked again. */
  refused?(why: ApiError): void;
}

export interface ReflectorOptions<T extends KubeObject = KubeObject> {
  readonly client: ApiClient;
  readonly type: ResourceType;
  readonly scope: Scope;
  readonly sink: ReflectorSink<T>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
}

/** Servers send a bookmark every minute; a connection silent for longer than two is dead. */
const stalledAfter: Millis = 150_000;
/** Watches last up to twice as long, so that they do not end together. */
const shortestWatch: Millis = 5 * 60_000;
/** A shorter watch without any event counts as failed. */
const tooShort: Millis = 1000;
const initialEventsEnd = "k8s.io/initial-events-end";

/**
 * Mirrors one collection into a sink: WatchList if the server has it, else list and watch; then watches again from the
 * last revision, or anew if that is too old (410, 504). A connection silent for 150 s is replaced. Failures are retried
 * for ever with delays from 0.8 s to 30 s.
 */
export class Reflector<T extends KubeObject = KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #log: Logger;
  #failures = 0;
  #revision: string | undefined;
  #canWatchList = true;
  #hasListed = false;
  #refusal: string | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#log = options.log.with({ resource: options.type.plural, namespace: options.scope.namespace });
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const failed = await this.#session(signal);
      if (signal.aborted) return;
      if (!failed) continue;
      const { clock, random } = this.#options;
      const pause = backoffDelay(++this.#failures, { first: 800, longest: 30_000, jitter: 1, random });
      await sleep(clock, pause, signal).catch(() => undefined);
    }
  }

  /** True if the next connection should wait. */
  async #session(signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    const begun = clock.monotonic();
    const before = this.#revision;
    try {
      await (this.#revision === undefined ? this.#listAndFollow(signal) : this.#follow(this.#revision, signal));
      return this.#revision === before && clock.monotonic() - begun < tooShort;
    } catch (thrown) {
      if (signal.aborted) return false;
      if (isGone(thrown) || isFuture(thrown)) this.#revision = undefined;
      this.#tellFailed(thrown);
      return true;
    }
  }

  /** A refusal lasts until access is granted, so that it is reported; other failures pass. */
  #tellFailed(thrown: unknown): void {
    const error = messageOf(thrown);
    if (isForbidden(thrown)) this.#options.sink.refused?.(thrown);
    const isNews = isForbidden(thrown) && error !== this.#refusal;
    if (isNews) this.#refusal = error;
    this.#log[isNews ? "warn" : "debug"]("watch failed, trying again", { error });
  }

  async #listAndFollow(signal: AbortSignal): Promise<void> {
    if (this.#canWatchList) {
      try {
        return await this.#watchList(signal);
      } catch (thrown) {
        if (this.#revision !== undefined || !isRefusalOfWatchList(thrown)) throw thrown;
        // An internal error may pass: WatchList is then tried again for the next full read.
        this.#canWatchList = isTransient(thrown);
        this.#log.debug("WatchList failed, listing instead", { error: messageOf(thrown) });
      }
    }
    const { client, type, scope } = this.#options;
    // The first list may come from a cache; a later one must not go back behind what was seen.
    const from = this.#hasListed ? {} : { resourceVersion: "0" };
    const list = await client.list<T>(type, { ...scope, ...from, signal });
    this.#replace(list.items, list.metadata.resourceVersion);
    await this.#follow(list.metadata.resourceVersion, signal);
  }

  /** The sink gets the whole state at once: a part of it would look like deletions. */
  async #watchList(signal: AbortSignal): Promise<void> {
    let initial: Map<string, Stored<T>> | undefined = new Map();
    const options = { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" } as const;
    await this.#watch(options, signal, (event) => {
      if (initial === undefined) return this.#onEvent(event);
      if (event.type === "BOOKMARK") {
        const revision = event.object.metadata.resourceVersion;
        if (event.object.metadata.annotations?.[initialEventsEnd] !== "true" || revision === undefined) return;
        this.#replace([...initial.values()], revision);
        initial = undefined;
      } else if (event.type === "DELETED") initial.delete(keyOf(event.object.metadata));
      else initial.set(keyOf(event.object.metadata), event.object);
    });
  }

  #follow(resourceVersion: string, signal: AbortSignal): Promise<void> {
    return this.#watch({ resourceVersion }, signal, (event) => this.#onEvent(event));
  }

  async #watch(
    from: Pick<WatchOptions, "resourceVersion" | "sendInitialEvents" | "resourceVersionMatch">,
    signal: AbortSignal,
    onEvent: (event: WatchEvent<T>) => void,
  ): Promise<void> {
    const { client, type, scope, clock, random } = this.#options;
    const guard = new StallGuard(clock, signal, () => this.#log.warn("watch stalled, connecting again"));
    const timeout = Math.round(shortestWatch * (1 + random()));
    try {
      const options = { ...scope, ...from, allowBookmarks: true, timeout, signal: guard.signal };
      for await (const event of client.watch<T>(type, options)) {
        if (signal.aborted) return;
        guard.heard();
        onEvent(event);
      }
    } finally {
      guard.close();
    }
  }

  /** Only what the sink has taken counts as seen. */
  #replace(objects: readonly Stored<T>[], revision: string): void {
    this.#options.sink.replace(objects, revision);
    this.#revision = revision;
    this.#hasListed = true;
    this.#refusal = undefined;
    this.#failures = 0;
  }

  #onEvent(event: WatchEvent<T>): void {
    const revision = event.object.metadata.resourceVersion;
    if (event.type !== "BOOKMARK") this.#options.sink.apply(event);
    else if (revision !== undefined) this.#options.sink.passed(revision);
    // A repeated older event must not move the start of the next watch backwards.
    if (revision !== undefined && !isAtLeast(this.#revision ?? "", revision)) this.#revision = revision;
    this.#failures = 0;
  }
}

/** The server was restored from an older state, or lags behind another. */
const isFuture = (thrown: unknown): boolean => thrown instanceof ApiError && thrown.reason === "Timeout";

/**
 * The server answers, but without WatchList, so that a list may succeed (as in client-go). An API server whose etcd
 * cannot report progress gives an internal error. A busy server is not asked for a list as well.
 */
function isRefusalOfWatchList(thrown: unknown): boolean {
  if (!(thrown instanceof ApiError)) return false;
  if (thrown.reason === "InternalError") return true;
  return !(isGone(thrown) || isForbidden(thrown) || isTransient(thrown));
}

/** Aborts its signal after too long a silence, with one timer. */
class StallGuard {
  readonly #abort = new AbortController();
  readonly #clock: Clock;
  readonly #removeListener: Cancel;
  readonly #onStall: () => void;
  #heardAt: Millis;
  #cancel: () => void;

  constructor(clock: Clock, outer: AbortSignal, onStall: () => void) {
    this.#clock = clock;
    this.#onStall = onStall;
    this.#heardAt = clock.monotonic();
    this.#cancel = clock.after(stalledAfter, () => this.#check());
    this.#removeListener = onAbort(outer, () => this.#abort.abort(outer.reason));
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Called for every event: sets no timer. */
  heard(): void {
    this.#heardAt = this.#clock.monotonic();
  }

  close(): void {
    this.#cancel();
    this.#removeListener();
  }

  #check(): void {
    const quiet = this.#clock.monotonic() - this.#heardAt;
    if (quiet < stalledAfter) {
      this.#cancel = this.#clock.after(stalledAfter - quiet, () => this.#check());
      return;
    }
    this.#onStall();
    this.#abort.abort(new Error("nothing was heard for too long"));
  }
}
