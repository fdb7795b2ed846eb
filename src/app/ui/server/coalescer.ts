import type { Cancel, Clock, Millis } from "#lib/base/index.ts";

/** Keeps the newest of each key, and hands all over at most once in a while: at once after a pause. */
export class Coalescer<T> {
  readonly #clock: Clock;
  readonly #every: Millis;
  readonly #flush: (items: readonly T[]) => void;
  readonly #waiting = new Map<string, T>();
  #cancel: Cancel | undefined;
  #flushedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, every: Millis, flush: (items: readonly T[]) => void) {
    this.#clock = clock;
    this.#every = every;
    this.#flush = flush;
  }

  /** `merge` makes one of the waiting item and this one. */
  put(key: string, item: T, merge: (waiting: T, item: T) => T = (_waiting, newer) => newer): void {
    const waiting = this.#waiting.get(key);
    this.#waiting.set(key, waiting === undefined ? item : merge(waiting, item));
    const rest = Math.max(0, this.#flushedAt + this.#every - this.#clock.monotonic());
    this.#cancel ??= this.#clock.after(rest, () => this.#now());
  }

  close(): void {
    this.#cancel?.();
    this.#waiting.clear();
  }

  #now(): void {
    this.#cancel = undefined;
    this.#flushedAt = this.#clock.monotonic();
    const items = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#flush(items);
  }
}
