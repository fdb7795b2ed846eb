import { type Cancel, codeOf } from "#lib/base/index.ts";
import { ApiError, badRequest, expired, invalidOption } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry, StoreEvent, Subscription } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import type { WatchRequest } from "../verbs/options.ts";
import { pausesOf } from "../verbs/list.ts";
import { parseRevision, waitForRevision } from "../verbs/revision.ts";
import { type Selector, selectorOf } from "../verbs/selector.ts";
import { collectionOf } from "../verbs/storage-view.ts";
import { changesOf, type WatchChange } from "./transitions.ts";

// A watch is a subscription of the store, the changes of its events as the selector sees them, and a sink that shows them: to a
// reader in this process (watch-queue.ts) or over HTTP. Nobody waits for a reader: it is cut when it falls too far behind.

/** Where the events of a watch go. No method may throw. */
export interface WatchSink {
  /**
   * `source` identifies the commit batch, so that watchers which show it alike can share the encoded form. It is absent for
   * what the reader missed before (present objects, retained events): being behind with those is no reason to cut it.
   */
  changes(changes: readonly WatchChange[], source: readonly StoreEvent[] | undefined): void;
  /** Nothing up to `revision` is missing. `initial`: the present objects have all been sent. */
  bookmark(revision: number, initial: boolean): void;
  /** The last call. With a refusal the watcher must start anew. */
  end(refusal?: ApiError): void;
  /** Resolves when the reader has caught up; asked between two parts of the present objects. */
  drained(): Promise<void>;
}

/**
 * Present objects or missed events sent between two looks at whether the reader keeps up, and between two turns of the event loop: few
 * enough that to parse them all, as a reader in this process needs it, or to encrypt them takes a millisecond.
 */
const partItems = 100;
const partBytes = 64 * 1024;
/** Longer ones are cut to a day: a watch that never ends would hide a client that is gone. */
const longestTimeoutSeconds = 24 * 3600;

/** Where a watch begins: with the present objects (at `revision` or later), or after a revision. */
interface Start {
  readonly initial: boolean;
  readonly from: number | undefined;
}

/**
 * Starts a watch: each later matching change reaches `sink` exactly once, in revision order, one call per commit. Throws a
 * refusal for a request that is wrong; a revision that is already compacted ends the watch through the sink. The sink must be
 * connected by `connect`, which is called once, before the first event.
 */
export async function startWatch(
  context: ApiContext,
  resource: ServedResource,
  request: WatchRequest,
  connect: (selector: Selector) => WatchSink,
  signal: AbortSignal,
): Promise<void> {
  const selector = selectorOf(request, resource, context.limits);
  const timeoutMs = timeoutOf(context, request);
  const start = startOf(request);
  if (start.from !== undefined) await waitForRevision(context, start.from, signal);
  if (signal.aborted) return;
  new RunningWatch(context, resource, request, selector, connect(selector), signal).run(start, timeoutMs);
}

/** Milliseconds; 30 to 60 minutes when the client names no time, as kube-apiserver does it. */
function timeoutOf(context: ApiContext, { timeoutSeconds = 0 }: WatchRequest): number {
  if (timeoutSeconds < 0) throw badRequest("timeoutSeconds must not be negative");
  // Spread, so that watches that began together do not all come back together.
  if (timeoutSeconds === 0) return Math.round(1_800_000 * (1 + context.random()));
  return Math.min(timeoutSeconds, longestTimeoutSeconds) * 1000;
}

/**
 * The table of KEP-3157: `sendInitialEvents` says whether present objects come first, and without it the absence of a
 * resourceVersion (or 0) says so. 422 for combinations that Kubernetes refuses.
 */
function startOf(request: WatchRequest): Start {
  const { sendInitialEvents, resourceVersionMatch: match = "", resourceVersion = "" } = request;
  if (sendInitialEvents === undefined && match !== "") {
    throw invalidOption("resourceVersionMatch", "Forbidden: on a watch it is for sendInitialEvents only");
  }
  if (sendInitialEvents !== undefined && match !== "NotOlderThan") {
    throw invalidOption("resourceVersionMatch", "sendInitialEvents demands resourceVersionMatch NotOlderThan");
  }
  const revision = resourceVersion === "" ? 0 : parseRevision(resourceVersion);
  const from = revision === 0 ? undefined : revision;
  if (sendInitialEvents !== undefined) return { initial: sendInitialEvents, from };
  return { initial: from === undefined, from };
}

/** Present objects as changes, few enough in each part; one empty part when there are none. */
function* partsOf(entries: readonly Entry[]): Generator<readonly WatchChange[]> {
  let rest = entries;
  do {
    const part = firstPart(rest, (entry) => entry);
    rest = rest.slice(part.length);
    yield part.map((entry) => ({ type: "ADDED", entry }));
  } while (rest.length > 0);
}

/** As many from the beginning as are a part by their size; at least one, if there is one. */
function firstPart<T>(items: readonly T[], entryOf: (item: T) => Entry): readonly T[] {
  let bytes = 0;
  const end = items.findIndex((item) => (bytes += entryOf(item).bytes.length) >= partBytes);
  return end < 0 ? items : items.slice(0, end + 1);
}

/** A watch with its subscription and timers. Ends once: by its reader, its time, its store or its kind's removal. */
class RunningWatch {
  readonly #context: ApiContext;
  readonly #resource: ServedResource;
  readonly #request: WatchRequest;
  readonly #selector: Selector;
  readonly #sink: WatchSink;
  /** Undoes timers, subscriptions and listeners; run once, in `#finish`. */
  readonly #cleanup: (() => void)[] = [];
  #closed = false;
  /** False while present objects are still being sent: until then no revision is complete. */
  #live = false;

  constructor(
    context: ApiContext,
    resource: ServedResource,
    request: WatchRequest,
    selector: Selector,
    sink: WatchSink,
    signal: AbortSignal,
  ) {
    this.#context = context;
    this.#resource = resource;
    this.#request = request;
    this.#selector = selector;
    this.#sink = sink;
    const abort = () => this.close();
    signal.addEventListener("abort", abort, { once: true });
    this.#cleanup.push(() => signal.removeEventListener("abort", abort));
  }

  /** Returns at once; whatever happens from here on reaches the sink. */
  run(start: Start, timeoutMs: number): void {
    this.#cleanup.push(this.#context.clock.after(timeoutMs, () => this.#timeUp()));
    this.#cleanup.push(this.#context.onKindsChange(() => this.#checkServed()));
    if (this.#request.allowBookmarks === true) this.#scheduleBookmark();
    if (!start.initial) {
      // Live only: from the revision named; with sendInitialEvents=false there need be none, and then from now.
      this.#resume(start.from ?? this.#context.store.revision).catch((thrown: unknown) => this.#fail(thrown));
      return;
    }
    this.#sendInitial().catch((thrown: unknown) => this.#fail(thrown));
  }

  /** The reader is gone. Twice is harmless, as is closing after the end. */
  close(): void {
    this.#finish(undefined);
  }

  /** All pages are of one revision, and the live events follow from that one, so that nothing is missed or told twice (S5). */
  async #sendInitial(): Promise<void> {
    const { store } = this.#context;
    const collection = collectionOf(this.#resource);
    const { namespace } = this.#selector;
    const scope = { limit: partItems, ...(namespace === undefined ? {} : { namespace }) };
    let page = store.page(collection, scope);
    let isFirst = true;
    for (;;) {
      const entries = this.#selector.everything ? page.entries : await this.#matching(page.entries);
      for (const part of partsOf(entries)) {
        if (!isFirst) await this.#letOthers();
        if (this.#closed) return;
        isFirst = false;
        if (part.length > 0) this.#sink.changes(part, undefined);
      }
      if (page.next === undefined) break;
      page = store.page(collection, { ...scope, revision: page.revision, after: page.next });
    }
    if (this.#request.sendInitialEvents === true && this.#request.allowBookmarks === true) {
      this.#sink.bookmark(page.revision, true);
    }
    this.#follow(page.revision);
  }

  async #matching(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const pauseBefore = pausesOf(this.#selector, this.#context.turns);
    const matching: Entry[] = [];
    for (const entry of entries) {
      const pause = pauseBefore(entry);
      if (pause !== undefined) await pause;
      if (this.#selector.matches(entry)) matching.push(entry);
    }
    return matching;
  }

  /** Until the reader has taken what it was sent, and everybody has had a turn. */
  async #letOthers(): Promise<void> {
    await this.#sink.drained();
    await this.#context.turns.piece();
  }

  /**
   * What the reader missed is told in parts, at its own pace, until one part is left, which comes with the subscription. Whoever takes it
   * more slowly than changes are forgotten has to list anew.
   */
  async #resume(from: number): Promise<void> {
    const { store } = this.#context;
    const collection = collectionOf(this.#resource);
    let position = from;
    for (;;) {
      // One more than a part has, to see whether that is all.
      const missed = store.missed(collection, position, partItems + 1);
      const part = firstPart(missed.slice(0, partItems), ({ entry }) => entry);
      if (part.length === missed.length) return this.#follow(position);
      await this.#letOthers();
      if (this.#closed) return;
      const changes = changesOf(part, this.#selector);
      if (changes.length > 0) this.#sink.changes(changes, undefined);
      position = part.at(-1)?.revision ?? position;
    }
  }

  /** What the subscription delivers before it returns is what the reader missed: being behind with that is not held against it. */
  #follow(from: number): void {
    if (this.#closed) return;
    let replaying = true;
    try {
      const subscription: Subscription = this.#context.store.subscribe(collectionOf(this.#resource), from, (events) => {
        if (this.#closed) return;
        const changes = changesOf(events, this.#selector);
        if (changes.length > 0) this.#sink.changes(changes, replaying ? undefined : events);
      });
      replaying = false;
      this.#live = true;
      this.#cleanup.push(() => subscription.close());
      // The retained events may have filled the sink, which then closed this watch already.
      if (this.#closed) subscription.close();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Bookmarks move a quiet watcher's revision on, so that it can resume after the events it saw last are compacted. */
  #scheduleBookmark(): void {
    const { clock, limits, store } = this.#context;
    let cancel: Cancel = () => undefined;
    const again = () => {
      cancel = clock.after(limits.bookmarkIntervalMs, () => {
        if (this.#live) this.#sink.bookmark(store.revision, false);
        again();
      });
    };
    again();
    this.#cleanup.push(() => cancel());
  }

  /** A last bookmark saves the client from asking again for what it has seen. */
  #timeUp(): void {
    if (this.#live && this.#request.allowBookmarks === true) this.#sink.bookmark(this.#context.store.revision, false);
    this.#finish(undefined);
  }

  /** After its kind is gone no event can come any more; the client learns that by asking anew. */
  #checkServed(): void {
    const { group, version, plural } = this.#resource.type;
    if (this.#context.registry().find(group, version, plural) === undefined) this.#finish(undefined);
  }

  /** 410 sends the client back to a list; anything else is a bug and is logged. */
  #fail(thrown: unknown): void {
    if (codeOf(thrown) === "revision-compacted") {
      this.#finish(expired("too old resource version: the changes after it are no longer kept"));
      return;
    }
    this.#context.log.error("watch failed", { resource: this.#resource.type.plural, error: thrown });
    this.#finish(new ApiError("InternalError", "the watch failed", { cause: thrown }));
  }

  #finish(refusal: ApiError | undefined): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const undo of this.#cleanup) undo();
    this.#sink.end(refusal);
  }
}
