import type { Cancel, Clock, Instant, Millis } from "#lib/base/index.ts";
import { DelayHeap } from "#kernel/kit/index.ts";

/** Wakes keys at given times, with one timer for all: there may be ten thousand agents. */
export class WakeTimers {
  readonly #clock: Clock;
  readonly #wake: (key: string) => void;
  readonly #heap = new DelayHeap();
  #cancel: Cancel | undefined;
  #at: Millis = Number.POSITIVE_INFINITY;
  #isClosed = false;

  constructor(clock: Clock, wake: (key: string) => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** Replaces the key's earlier time. */
  setAt(key: string, at: Instant): void {
    this.setAfter(key, at - this.#clock.now());
  }

  setAfter(key: string, delay: Millis): void {
    if (this.#isClosed) return;
    this.#heap.set(key, this.#clock.monotonic() + Math.max(0, delay));
    this.#schedule();
  }

  delete(key: string): void {
    this.#heap.delete(key);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#heap.clear();
  }

  #schedule(): void {
    const next = this.#heap.next();
    if (next === undefined || next >= this.#at) return;
    this.#cancel?.();
    this.#at = next;
    this.#cancel = this.#clock.after(next - this.#clock.monotonic(), () => this.#fire());
  }

  /** A callback may set the key again. */
  #fire(): void {
    this.#at = Number.POSITIVE_INFINITY;
    const now = this.#clock.monotonic();
    for (let key = this.#heap.takeDue(now); key !== undefined; key = this.#heap.takeDue(now)) this.#wake(key);
    this.#schedule();
  }
}
