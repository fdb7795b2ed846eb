import type { StoredEntry } from "./entry.ts";
import type { StoreEvent } from "./store.ts";

export interface StoredEvent extends StoreEvent {
  readonly entry: StoredEntry;
  readonly previous: StoredEntry | undefined;
}

/** Events by revision: appended at the end, dropped from the front, both O(1) on average. */
export class EventRing {
  #events: StoredEvent[] = [];
  /** Index of the first retained event; earlier ones are dropped but not cut off yet. */
  #start = 0;
  #bytes = 0;

  get length(): number {
    return this.#events.length - this.#start;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(event: StoredEvent): void {
    this.#events.push(event);
    this.#bytes += event.entry.bytes.length;
  }

  after(revision: number, limit: number = Number.POSITIVE_INFINITY): readonly StoredEvent[] {
    const start = this.#indexAfter(revision);
    return this.#events.slice(start, start + limit);
  }

  countAfter(revision: number): number {
    return this.#events.length - this.#indexAfter(revision);
  }

  through(revision: number): readonly StoredEvent[] {
    return this.#events.slice(this.#start, this.#indexAfter(revision));
  }

  dropThrough(revision: number): void {
    const end = this.#indexAfter(revision);
    for (const event of this.through(revision)) this.#bytes -= event.entry.bytes.length;
    this.#start = end;
    // Cut off in halves, so that dropping stays O(1) per event.
    if (this.#start * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#start);
      this.#start = 0;
    }
  }

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
