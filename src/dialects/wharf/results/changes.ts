/**
 * Tells whoever waits that something is new. One number instead of a queue: a follower that was away sees that it has missed changes, not
 * which, and looks for itself. Telling costs nothing where nobody waits, and never waits for anybody.
 */
export class Changes {
  /** Grows with each change. A follower notes it before it looks, and waits for another one when there was nothing to see. */
  version = 0;
  readonly #waiters = new Set<() => void>();
  #closed: Error | undefined;

  tell(): void {
    this.version++;
    for (const wake of this.#waiters) wake();
    this.#waiters.clear();
  }

  /** Whoever waits, now or later, is told this instead. The first reason stays. */
  close(reason: Error): void {
    this.#closed ??= reason;
    this.tell();
  }

  /**
   * Resolves when the version is another than `seen`, at once if it is. Rejects with the reason of the signal or of `close`. Leaves no
   * listener behind.
   */
  async after(seen: number, signal?: AbortSignal): Promise<void> {
    this.check(signal);
    if (this.version === seen) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          signal?.removeEventListener("abort", wake);
          this.#waiters.delete(wake);
          resolve();
        };
        this.#waiters.add(wake);
        signal?.addEventListener("abort", wake, { once: true });
      });
    }
    this.check(signal);
  }

  /** Throws when there is nothing to wait for any more. */
  check(signal?: AbortSignal): void {
    signal?.throwIfAborted();
    if (this.#closed !== undefined) throw this.#closed;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiters.size;
  }
}
