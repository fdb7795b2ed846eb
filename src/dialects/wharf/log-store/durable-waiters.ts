import { deferred } from "#lib/base/index.ts";

/** Who waits until lines are on the disk, each up to some logId. */
export class DurableWaiters {
  #waiters: { readonly upTo: number; readonly done: ReturnType<typeof deferred<void>> }[] = [];

  /** Resolves by `settle`, rejects by `fail`. */
  wait(upTo: number): Promise<void> {
    const done = deferred<void>();
    this.#waiters.push({ upTo, done });
    return done.promise;
  }

  /** Whether somebody waits for nothing beyond this logId, so that a flush would help. Those who came first wait for least. */
  hasUpTo(logId: number): boolean {
    const [first] = this.#waiters;
    return first !== undefined && first.upTo <= logId;
  }

  /** Everything up to this logId is on the disk. */
  settle(logId: number): void {
    for (const { upTo, done } of this.#waiters) if (upTo <= logId) done.resolve();
    this.#waiters = this.#waiters.filter(({ upTo }) => upTo > logId);
  }

  /** What they wait for does not come. */
  fail(reason: Error): void {
    for (const { done } of this.#waiters) done.reject(reason);
    this.#waiters = [];
  }
}
