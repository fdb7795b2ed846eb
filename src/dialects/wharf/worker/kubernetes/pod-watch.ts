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

/** Somebody who waits for a state, and for what is wrong to go by. */
interface Waiter {
  readonly look: (view: PodView) => boolean;
  readonly reject: (reason: unknown) => void;
}

/** Before the next list, when a watch has ended. */
const pauseMs: Millis = 100;

/**
 * One Pod as it changes: a list, a watch from where the list was, and again from the beginning when the watch ends or its place is gone. So a state
 * counts that was reached before anybody looked, and one that was passed while nobody could. A cluster that is away is waited for; that it stays
 * away rejects everybody who waits.
 */
export class PodWatch {
  readonly #options: PodWatchOptions;
  readonly #closing = new AbortController();
  readonly #waiters = new Set<Waiter>();
  readonly #running: Promise<void>;
  #view: PodView;
  #failure: unknown;

  /** `created` is the Pod as the creation has answered. */
  constructor(created: Stored, options: PodWatchOptions) {
    this.#options = options;
    this.#view = { pod: created, isGone: false };
    this.#running = this.#run().catch((thrown: unknown) => this.#fail(thrown));
  }

  /** As it was seen last. */
  get view(): PodView {
    return this.#view;
  }

  /**
   * Resolves with the first answer to a state, beginning with the present one. Rejects with what `look` throws, with the signal's reason, or with
   * why nothing is seen any more.
   */
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

  /** Has everybody look at the present state once more, because time has passed. */
  lookAgain(): void {
    this.#tell(this.#view);
  }

  /** Resolves when nothing is asked of the cluster any more. Who still waits is rejected. */
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
      // Another one of the name has nothing to do with the step.
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

  /** True when there is no more to come. */
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
