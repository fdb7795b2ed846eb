import { Fifo, type WatchEvent } from "#kernel/kit/index.ts";
import { ApiError, apiVersionOf, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { viewOf } from "../verbs/storage-view.ts";
import type { StoreEvent } from "../store/store.ts";
import type { WatchSink } from "./watch.ts";
import type { WatchChange } from "./transitions.ts";

/** Yields shared, frozen objects. A reader `maxBytes` of JSON behind is cut and resumes from its last revision. */
export class WatchQueue implements WatchSink {
  readonly #resource: ServedResource;
  readonly #maxBytes: number;
  readonly #close: () => void;
  readonly #waiting = new Fifo<{ readonly event: WatchEvent; readonly bytes: number }>();
  #bytes = 0;
  #ended = false;
  #refusal: ApiError | undefined;
  /** Set while the reader waits for an event. */
  #wake: (() => void) | undefined;
  /** Set while a caller waits for the reader to catch up. */
  #drain: (() => void) | undefined;

  constructor(resource: ServedResource, maxBytes: number, close: () => void) {
    this.#resource = resource;
    this.#maxBytes = maxBytes;
    this.#close = close;
  }

  changes(changes: readonly WatchChange[], source: readonly StoreEvent[] | undefined): void {
    // Judged before adding: one large commit does not cut a reader that keeps up.
    if (source !== undefined && this.#bytes > this.#maxBytes) return this.#close();
    for (const { type, entry } of changes) {
      const object = viewOf(this.#resource, entry) as unknown as Stored;
      this.#push({ type, object }, entry.bytes.length);
    }
  }

  /** Counted as 100 bytes; never cuts a reader by itself. */
  bookmark(revision: number, initial: boolean): void {
    this.#push({ type: "BOOKMARK", object: bookmarkObject(this.#resource, revision, initial) }, 100);
  }

  /** Waiting events are still delivered. */
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

/** The object of a BOOKMARK event: only its revision counts. */
export function bookmarkObject(resource: ServedResource, revision: number, initial: boolean): KubeObject {
  const { type } = resource;
  const metadata = { resourceVersion: String(revision) };
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: initial ? { ...metadata, annotations: { "k8s.io/initial-events-end": "true" } } : metadata,
  };
}
