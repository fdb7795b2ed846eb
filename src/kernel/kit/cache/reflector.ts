import { type Clock, type Logger, messageOf, type Millis, sleep, type Random } from "#lib/base/index.ts";
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
import { Backoff } from "./backoff.ts";

/** Which objects of a kind are mirrored. */
export interface Scope {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Receives the state of the server and then every change of it, in order. Called synchronously; must not throw. */
export interface ReflectorSink<T extends KubeObject = KubeObject> {
  /** The whole state at a revision; whatever is not in it is gone. */
  replace(objects: readonly Stored<T>[], resourceVersion: string): void;
  apply(event: WatchEvent<T> & { readonly type: "ADDED" | "MODIFIED" | "DELETED" }): void;
  /** Nothing else has changed up to this revision. */
  passed(resourceVersion: string): void;
  /** The server does not let it be read, and is asked again; what was told before stands. Called for each time. */
  refused?(why: ApiError): void;
}

/** What to mirror, from where and into what. */
export interface ReflectorOptions<T extends KubeObject = KubeObject> {
  readonly client: ApiClient;
  readonly type: ResourceType;
  readonly scope: Scope;
  readonly sink: ReflectorSink<T>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
}

/** Servers send a bookmark every minute; a connection silent for longer than two of them is taken for dead. */
const stalledAfter: Millis = 150_000;
/** Watches end after this, or up to twice as long: many that began together do not end together. */
const shortestWatch: Millis = 5 * 60_000;
/** A watch that ended sooner, without having told anything, counts as failed. */
const tooShort: Millis = 1000;
/** KEP-3157 (WatchList). */
const initialEventsEnd = "k8s.io/initial-events-end";

/**
 * Mirrors one collection into a sink for as long as it runs: WatchList where the server has it, else list and watch; goes on from
 * the last revision when a watch ends, and lists again when that revision is gone. Failures are retried for ever with delays
 * from 0.8 s doubling to 30 s.
 *
 *   no revision yet        WatchList (present objects, bookmark, changes); when the server refuses it: list and watch
 *   a revision             watch from it; ended normally: again from the last one heard
 *   410, 504               the revision is too old, or the server was restored: all over, `replace` tells what went
 *   silence for 150 s      the connection is dead, whatever TCP says: connect again
 */
export class Reflector<T extends KubeObject = KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #log: Logger;
  readonly #backoff: Backoff;
  #revision: string | undefined;
  #canWatchList = true;
  #hasListed = false;
  /** Warned of since the last success. */
  #refusal: string | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#log = options.log.with({ resource: options.type.plural, namespace: options.scope.namespace });
    this.#backoff = new Backoff({ first: 800, factor: 2, longest: 30_000, jitter: 1, random: options.random });
  }

  /** Resolves once the signal aborts; never rejects because of the server. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const failed = await this.#session(signal);
      if (signal.aborted) return;
      if (failed) await sleep(this.#options.clock, this.#backoff.next(), signal).catch(() => undefined);
    }
  }

  /** One connection from its beginning to its end. True when the next one should wait. */
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

  /** Whoever waits for a mirror waits until somebody grants what is missing, and has to learn what that is; everything else passes by itself. */
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
        // An internal error may pass, so that WatchList is tried again when the collection must be read anew.
        this.#canWatchList = isTransient(thrown);
        this.#log.debug("WatchList failed, listing instead", { error: messageOf(thrown) });
      }
    }
    const { client, type, scope } = this.#options;
    // The first list may come from any server's cache; a later one must not go back behind what was seen.
    const from = this.#hasListed ? {} : { resourceVersion: "0" };
    const list = await client.list<T>(type, { ...scope, ...from, signal });
    this.#replace(list.items, list.metadata.resourceVersion);
    await this.#follow(list.metadata.resourceVersion, signal);
  }

  /** Nothing reaches the sink before the whole state is there: a half of it would look like deletions. */
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

  /** One watch to its end; a stalled one ends with the error of the guard's signal. */
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

  /** The sink first: only what it has taken counts as seen. */
  #replace(objects: readonly Stored<T>[], revision: string): void {
    this.#options.sink.replace(objects, revision);
    this.#revision = revision;
    this.#hasListed = true;
    this.#refusal = undefined;
    this.#backoff.reset();
  }

  #onEvent(event: WatchEvent<T>): void {
    const revision = event.object.metadata.resourceVersion;
    if (event.type !== "BOOKMARK") this.#options.sink.apply(event);
    else if (revision !== undefined) this.#options.sink.passed(revision);
    // A repeated older event must not make the next watch begin earlier than this one has come.
    if (revision !== undefined && !isAtLeast(this.#revision ?? "", revision)) this.#revision = revision;
    this.#backoff.reset();
  }
}

/** The server has not come to the revision asked for: it was restored from an older state, or lags behind the one asked before. */
const isFuture = (thrown: unknown): boolean => thrown instanceof ApiError && thrown.reason === "Timeout";

/**
 * The server answers but gives no WatchList, so that a list may succeed, as in client-go. Among the internal errors is that of an API server
 * whose etcd cannot report progress. A server that is busy is not asked for a whole list on top.
 */
function isRefusalOfWatchList(thrown: unknown): boolean {
  if (!(thrown instanceof ApiError)) return false;
  if (thrown.reason === "InternalError") return true;
  return !(isGone(thrown) || isForbidden(thrown) || isTransient(thrown));
}

/** Aborts its signal when nothing was heard for too long, with one timer however many events there are. */
class StallGuard {
  readonly #abort = new AbortController();
  readonly #clock: Clock;
  readonly #outer: AbortSignal;
  readonly #onOuterAbort = (): void => this.#abort.abort(this.#outer.reason);
  readonly #onStall: () => void;
  #heardAt: Millis;
  #cancel: () => void;

  constructor(clock: Clock, outer: AbortSignal, onStall: () => void) {
    this.#clock = clock;
    this.#outer = outer;
    this.#onStall = onStall;
    // Monotonic: a clock that is set back must not make silence look like patience.
    this.#heardAt = clock.monotonic();
    this.#cancel = clock.after(stalledAfter, () => this.#check());
    outer.addEventListener("abort", this.#onOuterAbort, { once: true });
    if (outer.aborted) this.#onOuterAbort();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Called for every event, so it sets no timer: the one there is looks again when it fires. */
  heard(): void {
    this.#heardAt = this.#clock.monotonic();
  }

  close(): void {
    this.#cancel();
    this.#outer.removeEventListener("abort", this.#onOuterAbort);
  }

  /** Waits for what is left of the patience, or gives up. */
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
