/** Wakes waiters when something changes. A version number instead of a queue: waiters compare it and look for
 * themselves. */
export class Changes {
  /** Read it before looking, and pass it to `after` if there was nothing. */
  version = 0;
  readonly #waiters = new Set<() => void>();
  #closed: Error | undefined;

  tell(): void {
    this.version++;
    for (const wake of this.#waiters) wake();
    this.#waiters.clear();
  }

  /** Waiters are rejected with the first reason. */
  close(reason: Error): void {
    this.#closed ??= reason;
    this.tell();
  }

  /** Resolves when the version differs from `seen`. Rejects with the reason of the signal or of `close`. */
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

  check(signal?: AbortSignal): void {
    signal?.throwIfAborted();
    if (this.#closed !== undefined) throw this.#closed;
  }

  get waiting(): number {
    return this.#waiters.size;
  }
}
