import { type Cancel, codeOf } from "#lib/base/index.ts";
import { ApiError, badRequest, expired, invalidOption } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry, StoreEvent, Subscription } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import type { WatchRequest } from "../verbs/options.ts";
import { pausesOf } from "../verbs/list.ts";
import { parseRevision, waitForRevision } from "../verbs/get.ts";
import { type Selector, selectorOf } from "../verbs/selector.ts";
import { collectionOf } from "../verbs/storage-view.ts";
import { changesOf, type WatchChange } from "./transitions.ts";

// Connects a subscription with a sink. Nothing waits for a reader: it is cut when it falls too far behind.

export interface WatchSink {
  /** `source` identifies the commit for shared encoding; absent for initial events, which never cut a reader. */
  changes(changes: readonly WatchChange[], source: readonly StoreEvent[] | undefined): void;
  /** Nothing up to `revision` is missing. `initial`: all present objects were sent. */
  bookmark(revision: number, initial: boolean): void;
  /** The last call. After a refusal the watcher must start anew. */
  end(refusal?: ApiError): void;
  /** Resolves when the reader has caught up; awaited between two parts of the present objects. */
  drained(): Promise<void>;
}

/** Objects or events sent in one turn of the event loop: about a millisecond of parsing or encrypting. */
const partItems = 100;
const partBytes = 64 * 1024;
/** A watch that never ended would hide a client that is gone. */
const longestTimeoutSeconds = 24 * 3600;

interface Start {
  readonly initial: boolean;
  readonly from: number | undefined;
}

/** One call per commit. Throws for a bad request; a compacted revision ends the sink. `connect` precedes all events. */
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

/** Milliseconds; 30 to 60 minutes by default, as in kube-apiserver. */
function timeoutOf(context: ApiContext, { timeoutSeconds = 0 }: WatchRequest): number {
  if (timeoutSeconds < 0) throw badRequest("timeoutSeconds must not be negative");
  // Spread, so that watches do not all reconnect together.
  if (timeoutSeconds === 0) return Math.round(1_800_000 * (1 + context.random()));
  return Math.min(timeoutSeconds, longestTimeoutSeconds) * 1000;
}

/** KEP-3157; without `sendInitialEvents` a missing resourceVersion (or 0) decides. 422 where Kubernetes refuses. */
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

/** Present objects as changes; one empty part when there are none. */
function* partsOf(entries: readonly Entry[]): Generator<readonly WatchChange[]> {
  let rest = entries;
  do {
    const part = firstPart(rest, (entry) => entry);
    rest = rest.slice(part.length);
    yield part.map((entry) => ({ type: "ADDED", entry }));
  } while (rest.length > 0);
}

/** At least one item, if there is one. */
function firstPart<T>(items: readonly T[], entryOf: (item: T) => Entry): readonly T[] {
  let bytes = 0;
  const end = items.findIndex((item) => (bytes += entryOf(item).bytes.length) >= partBytes);
  return end < 0 ? items : items.slice(0, end + 1);
}

/** A watch with its subscription and timers. Ends once: by its reader, timeout, store or the removal of its kind. */
class RunningWatch {
  readonly #context: ApiContext;
  readonly #resource: ServedResource;
  readonly #request: WatchRequest;
  readonly #selector: Selector;
  readonly #sink: WatchSink;
  /** Run once, in `#finish`. */
  readonly #cleanup: (() => void)[] = [];
  #closed = false;
  /** False while present objects are being sent: no revision is complete yet. */
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

  /** Returns at once; errors reach the sink. */
  run(start: Start, timeoutMs: number): void {
    this.#cleanup.push(this.#context.clock.after(timeoutMs, () => this.#timeUp()));
    this.#cleanup.push(this.#context.onKindsChange(() => this.#checkServed()));
    if (this.#request.allowBookmarks === true) this.#scheduleBookmark();
    if (!start.initial) {
      // Without a revision: from now.
      this.#resume(start.from ?? this.#context.store.revision).catch((thrown: unknown) => this.#fail(thrown));
      return;
    }
    this.#sendInitial().catch((thrown: unknown) => this.#fail(thrown));
  }

  /** The reader is gone. Idempotent. */
  close(): void {
    this.#finish(undefined);
  }

  /** All pages show one revision, from which the live events follow. */
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

  async #letOthers(): Promise<void> {
    await this.#sink.drained();
    await this.#context.turns.piece();
  }

  /** In parts at the reader's pace; the last with the subscription. A reader slower than compaction lists anew. */
  async #resume(from: number): Promise<void> {
    const { store } = this.#context;
    const collection = collectionOf(this.#resource);
    let position = from;
    for (;;) {
      // One more, to see whether that is all.
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

  /** Events delivered before `subscribe` returns were missed before and do not cut the reader. */
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
      // The retained events may have closed this watch already.
      if (this.#closed) subscription.close();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Bookmarks advance a quiet watcher's revision, so that it can resume after compactions. */
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

  /** A last bookmark, so that the client resumes from here. */
  #timeUp(): void {
    if (this.#live && this.#request.allowBookmarks === true) this.#sink.bookmark(this.#context.store.revision, false);
    this.#finish(undefined);
  }

  /** Ends the watch when its kind is gone; the client finds out when it reconnects. */
  #checkServed(): void {
    const { group, version, plural } = this.#resource.type;
    if (this.#context.registry().find(group, version, plural) === undefined) this.#finish(undefined);
  }

  /** 410 makes the client list again; anything else is a bug and logged. */
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
