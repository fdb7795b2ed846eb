import { type Clock, type Deferred, deferred, type Millis, sleep, toError } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isGone, type KubeObject, Pod, type Stored } from "#kernel/model/index.ts";
import type { Patience } from "../patience.ts";
import type { PodView } from "./pod-state.ts";

export interface PodWatchOptions {
  readonly client: Pick<ApiClient, "list" | "watch">;
  readonly clock: Clock;
  readonly patience: Patience;
}

interface Waiter {
  readonly look: (view: PodView) => boolean;
  readonly reject: (reason: unknown) => void;
}

const pauseMs: Millis = 100;

/** Watches one Pod with list and watch, and starts again when a watch ends. Waiters see every state, including the
 * current one. A cluster that stays away rejects all waiters. */
export class PodWatch {
  readonly #options: PodWatchOptions;
  readonly #closing = new AbortController();
  readonly #waiters = new Set<Waiter>();
  readonly #running: Promise<void>;
  #view: PodView;
  #failure: unknown;

  constructor(created: Stored, options: PodWatchOptions) {
    this.#options = options;
    this.#view = { pod: created, isGone: false };
    this.#running = this.#run().catch((thrown: unknown) => this.#fail(thrown));
  }

  get view(): PodView {
    return this.#view;
  }

  /** Resolves with the first answer, starting with the current state. Rejects with what `look` throws, the signal's
   * reason or the watch's failure. */
  until<T>(look: (view: PodView) => T | undefined, signal: AbortSignal): Promise<T> {
    const found: Deferred<T> = deferred();
    const abort = (): void => found.reject(toError(signal.reason));
    const waiter: Waiter = {
      look: (view) => {
        try {
          const answer = look(view);
          if (answer === undefined) return false;
          found.resolve(answer);
        } catch (thrown) {
          found.reject(thrown);
        }
        return true;
      },
      reject: found.reject,
    };
    if (signal.aborted) abort();
    else if (this.#failure !== undefined) found.reject(this.#failure);
    else if (!waiter.look(this.#view)) {
      this.#waiters.add(waiter);
      signal.addEventListener("abort", abort, { once: true });
    }
    return found.promise.finally(() => {
      this.#waiters.delete(waiter);
      signal.removeEventListener("abort", abort);
    });
  }

  /** Evaluates the current state again because time has passed. */
  lookAgain(): void {
    this.#tell(this.#view);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("the step has ended"));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { client, clock, patience } = this.#options;
    const { signal } = this.#closing;
    const { name = "", namespace = "" } = this.#view.pod.metadata;
    const scope = { namespace, fieldSelector: `metadata.name=${name}`, signal };
    for (;;) {
      const { items, metadata } = await patience.ask(() => client.list(Pod, scope), signal);
      const [pod] = items;
      // A new Pod of the same name is another one.
      const isThere = pod !== undefined && pod.metadata.uid === this.#view.pod.metadata.uid;
      this.#tell(isThere ? { pod, isGone: false } : { ...this.#view, isGone: true });
      if (!isThere) return;
      try {
        const { resourceVersion } = metadata;
        for await (const event of client.watch(Pod, { ...scope, resourceVersion, allowBookmarks: true }))
          if (event.type !== "BOOKMARK" && this.#take(event.type, event.object)) return;
      } catch (thrown) {
        if (!isGone(thrown) && !patience.isAway(thrown)) throw thrown;
      }
      signal.throwIfAborted();
      await sleep(clock, pauseMs, signal);
    }
  }

  #take(type: "ADDED" | "MODIFIED" | "DELETED", pod: KubeObject): boolean {
    if (pod.metadata.uid !== this.#view.pod.metadata.uid) return false;
    this.#tell({ pod, isGone: type === "DELETED" });
    return type === "DELETED";
  }

  #tell(view: PodView): void {
    this.#view = view;
    for (const waiter of this.#waiters) if (waiter.look(view)) this.#waiters.delete(waiter);
  }

  #fail(thrown: unknown): void {
    this.#failure = thrown;
    for (const { reject } of this.#waiters) reject(thrown);
    this.#waiters.clear();
  }
}
