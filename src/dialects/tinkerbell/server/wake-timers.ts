import type { Cancel, Clock, Instant, Millis } from "#lib/base/index.ts";
import { DelayHeap } from "#kernel/kit/index.ts";

/** Keys to be looked at again at a time, all by one timer: there may be an agent on each of ten thousand machines. */
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

  /** Wakes the key at an instant of the day, or a moment later. The time that it had before is forgotten. */
  setAt(key: string, at: Instant): void {
    this.setAfter(key, at - this.#clock.now());
  }

  /** As `setAt`, after a while. */
  setAfter(key: string, delay: Millis): void {
    if (this.#isClosed) return;
    this.#heap.set(key, this.#clock.monotonic() + Math.max(0, delay));
    this.#schedule();
  }

  /** No effect on a key that waits for nothing. */
  delete(key: string): void {
    this.#heap.delete(key);
  }

  /** Wakes nobody any more. */
  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#heap.clear();
  }

  /** One timer, for the earliest. */
  #schedule(): void {
    const next = this.#heap.next();
    if (next === undefined || next >= this.#at) return;
    this.#cancel?.();
    this.#at = next;
    this.#cancel = this.#clock.after(next - this.#clock.monotonic(), () => this.#fire());
  }

  /** Whoever is woken may set its next time at once. */
  #fire(): void {
    this.#at = Number.POSITIVE_INFINITY;
    const now = this.#clock.monotonic();
    for (let key = this.#heap.takeDue(now); key !== undefined; key = this.#heap.takeDue(now)) this.#wake(key);
    this.#schedule();
  }
}
