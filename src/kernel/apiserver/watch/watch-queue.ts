import { Fifo, type WatchEvent } from "#kernel/kit/index.ts";
import { ApiError, apiVersionOf, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { viewOf } from "../verbs/storage-view.ts";
import type { StoreEvent } from "../store/store.ts";
import type { WatchSink } from "./watch.ts";
import type { WatchChange } from "./transitions.ts";

/**
 * A watch for a reader in this process: an async iterable of shared, frozen objects. A reader that falls `maxBytes` of JSON
 * behind is cut (the iteration ends, and it resumes from its last revision); it is never waited for.
 */
export class WatchQueue implements WatchSink {
  readonly #resource: ServedResource;
  readonly #maxBytes: number;
  readonly #close: () => void;
  /** What the reader has not taken. Taken events are let go in chunks, also while it is always a little behind. */
  readonly #waiting = new Fifo<{ readonly event: WatchEvent; readonly bytes: number }>();
  /** JSON bytes of what waits. */
  #bytes = 0;
  #ended = false;
  #refusal: ApiError | undefined;
  /** Set while the reader waits for an event. */
  #wake: (() => void) | undefined;
  /** Set while somebody waits for the reader to have taken everything. */
  #drain: (() => void) | undefined;

  constructor(resource: ServedResource, maxBytes: number, close: () => void) {
    this.#resource = resource;
    this.#maxBytes = maxBytes;
    this.#close = close;
  }

  changes(changes: readonly WatchChange[], source: readonly StoreEvent[] | undefined): void {
    // Judged by what was left from before: one large commit does not cut a reader that keeps up.
    if (source !== undefined && this.#bytes > this.#maxBytes) return this.#close();
    for (const { type, entry } of changes) {
      // What the kind serves is a KubeObject; storage knows it as JSON.
      const object = viewOf(this.#resource, entry) as unknown as Stored;
      this.#push({ type, object }, entry.bytes.length);
    }
  }

  /**
   * Reckoned at 100 bytes. Never a reason to cut by itself: the first one follows the present objects, with which a reader may be
   * behind, and later ones come about once a minute. The next change judges them with the rest.
   */
  bookmark(revision: number, initial: boolean): void {
    this.#push({ type: "BOOKMARK", object: bookmarkObject(this.#resource, revision, initial) }, 100);
  }

  /** What waits is still yielded before the end. */
  end(refusal?: ApiError): void {
    this.#ended = true;
    this.#refusal = refusal;
    this.#wake?.();
    this.#drain?.();
  }

  drained(): Promise<void> {
    if (this.#bytes === 0 || this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#drain = () => {
        this.#drain = undefined;
        resolve();
      };
    });
  }

  /** Yields events until the watch ends; throws the refusal it ended with. */
  async *events(): AsyncGenerator<WatchEvent, void> {
    for (;;) {
      const first = this.#waiting.shift();
      if (first !== undefined) {
        this.#bytes -= first.bytes;
        if (this.#waiting.size === 0) this.#drain?.();
        yield first.event;
      } else if (this.#ended) {
        if (this.#refusal !== undefined) throw this.#refusal;
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }

  #push(event: WatchEvent, bytes: number): void {
    this.#waiting.push({ event, bytes });
    this.#bytes += bytes;
    this.#wake?.();
  }
}

/** The object of a BOOKMARK event: only its revision means something. */
export function bookmarkObject(resource: ServedResource, revision: number, initial: boolean): KubeObject {
  const { type } = resource;
  const metadata = { resourceVersion: String(revision) };
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: initial ? { ...metadata, annotations: { "k8s.io/initial-events-end": "true" } } : metadata,
  };
}
