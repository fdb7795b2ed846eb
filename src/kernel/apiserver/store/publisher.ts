import { deferred, type Logger, orAborted } from "#lib/base/index.ts";
import type { WriteGroup } from "./committer.ts";
import type { CollectionImage } from "./image.ts";
import type { StoredEvent } from "./ring.ts";
import type { Write } from "./session.ts";
import type { StoreState } from "./state.ts";
import type { Collection, StoreEvent, Subscription } from "./store.ts";
import { deliver, deliverTo, type Subscriber } from "./subscribers.ts";

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
}

// Everything here runs in one turn after the flush, so that no reader sees half a commit.

export class Publisher {
  readonly #state: StoreState;
  readonly #log: Logger;
  readonly #everything = new Set<Subscriber>();
  readonly #waiters = new Set<Waiter>();

  constructor(state: StoreState, log: Logger) {
    this.#state = state;
    this.#log = log;
  }

  /** Applies the writes by revision, then notifies each subscriber once. */
  publish(groups: readonly WriteGroup[]): void {
    const state = this.#state;
    const touched = new Set<CollectionImage>();
    const fresh: StoreEvent[] = [];
    for (const group of groups) {
      for (const write of group.writes) {
        const event = this.#apply(write, touched);
        if (this.#everything.size > 0) fresh.push(event);
      }
      for (const { key, value } of group.system) {
        if (value === undefined) state.system.delete(key);
        else state.system.set(key, value);
      }
    }
    this.#tell(touched, fresh);
  }

  /** Delivers what is retained after `from` before it returns; `from` must not be below the compacted revision. */
  subscribe(collection: Collection, from: number, tell: Subscriber["deliver"]): Subscription {
    const image = this.#state.image.ensure(collection.group, collection.resource);
    const { revision } = this.#state;
    const subscriber = { deliver: tell, position: Math.max(from, revision) };
    image.subscribers.add(subscriber);
    const retained = image.ring.after(from);
    if (retained.length > 0) deliver(subscriber, retained, revision, this.#log);
    return { close: () => void image.subscribers.delete(subscriber) };
  }

  /** From the next commit on. */
  subscribeAll(tell: (events: readonly StoreEvent[]) => void): Subscription {
    const subscriber = { deliver: tell, position: this.#state.revision };
    this.#everything.add(subscriber);
    return { close: () => void this.#everything.delete(subscriber) };
  }

  /** Resolves in the turn that publishes `revision`, after its subscribers. */
  reached(revision: number, signal: AbortSignal): Promise<void> {
    if (this.#state.revision >= revision) return Promise.resolve();
    const { promise, resolve } = deferred<void>();
    const waiter = { revision, resolve };
    this.#waiters.add(waiter);
    return orAborted(promise, signal).finally(() => this.#waiters.delete(waiter));
  }

  /** The image first: subscribers that read the store must find the event's state or a later one. */
  #apply(write: Write, touched: Set<CollectionImage>): StoredEvent {
    const { type, slot, revision, entry, previous } = write;
    const { collection } = slot;
    this.#state.image.publish(slot, type === "delete" ? undefined : entry, revision);
    const event: StoredEvent = { type, revision, entry, previous };
    this.#state.ring.push(event);
    collection.ring.push(event);
    if (collection.subscribers.size > 0) {
      collection.fresh.push(event);
      touched.add(collection);
    }
    this.#state.revision = revision;
    return event;
  }

  #tell(touched: ReadonlySet<CollectionImage>, fresh: readonly StoreEvent[]): void {
    const { revision } = this.#state;
    // Taken before anyone is notified, since a listener may write at once.
    const rounds = [...touched].map((image) => ({ image, events: image.fresh.splice(0) }));
    for (const { image, events } of rounds) deliverTo(image.subscribers, events, revision, this.#log);
    if (fresh.length > 0) deliverTo(this.#everything, fresh, revision, this.#log);
    for (const waiter of this.#waiters) {
      if (waiter.revision > revision) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}
