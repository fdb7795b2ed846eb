import type { StoredEntry } from "./entry.ts";
import type { StoreEvent } from "./store.ts";

/** A retained event; its entries are the store's own. */
export interface StoredEvent extends StoreEvent {
  readonly entry: StoredEntry;
  readonly previous: StoredEntry | undefined;
}

/** Events in order of revision, appended at the end, dropped from the front. Both cost O(1) on average. */
export class EventRing {
  #events: StoredEvent[] = [];
  /** Index of the first retained event: what is before it has been dropped, but not cut off yet. */
  #start = 0;
  #bytes = 0;

  get length(): number {
    return this.#events.length - this.#start;
  }

  /** JSON bytes of the retained entries. Previous ones are entries of earlier events or current objects. */
  get bytes(): number {
    return this.#bytes;
  }

  push(event: StoredEvent): void {
    this.#events.push(event);
    this.#bytes += event.entry.bytes.length;
  }

  /** Events after a revision, oldest first; at most `limit` of them. */
  after(revision: number, limit: number = Number.POSITIVE_INFINITY): readonly StoredEvent[] {
    const start = this.#indexAfter(revision);
    return this.#events.slice(start, start + limit);
  }

  /** Number of events after a revision: O(log events). */
  countAfter(revision: number): number {
    return this.#events.length - this.#indexAfter(revision);
  }

  /** Events up to and including a revision. */
  through(revision: number): readonly StoredEvent[] {
    return this.#events.slice(this.#start, this.#indexAfter(revision));
  }

  /** Takes out the events up to and including a revision. */
  dropThrough(revision: number): void {
    const end = this.#indexAfter(revision);
    for (const event of this.through(revision)) this.#bytes -= event.entry.bytes.length;
    this.#start = end;
    // The dropped half is let go in one move, so that dropping stays O(1) per event.
    if (this.#start * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#start);
      this.#start = 0;
    }
  }

  /** Index of the first event above `revision`: O(log events). */
  #indexAfter(revision: number): number {
    let low = this.#start;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const event = this.#events[middle];
      if (event !== undefined && event.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
