import { deferred } from "#lib/base/index.ts";

export class DurableWaiters {
  #waiters: { readonly upTo: number; readonly done: ReturnType<typeof deferred<void>> }[] = [];

  wait(upTo: number): Promise<void> {
    const done = deferred<void>();
    this.#waiters.push({ upTo, done });
    return done.promise;
  }

  /** True if a flush up to `logId` would satisfy a waiter. */
  hasUpTo(logId: number): boolean {
    const [first] = this.#waiters;
    return first !== undefined && first.upTo <= logId;
  }

  settle(logId: number): void {
    for (const { upTo, done } of this.#waiters) if (upTo <= logId) done.resolve();
    this.#waiters = this.#waiters.filter(({ upTo }) => upTo > logId);
  }

  fail(reason: Error): void {
    for (const { done } of this.#waiters) done.reject(reason);
    this.#waiters = [];
  }
}
