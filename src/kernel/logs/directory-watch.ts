import { type FSWatcher, watch } from "node:fs";
import { type Deferred, deferred } from "#lib/base/index.ts";

/** Tells when something in a directory changed, without looking at intervals. Close it. */
export class DirectoryWatch {
  readonly #watcher: FSWatcher;
  #changed = true;
  #waiter: Deferred<void> | undefined;
  #failure: Error | undefined;

  /** The directory must exist. `wake` signals count as changes. */
  constructor(directory: string, wake: readonly AbortSignal[]) {
    this.#watcher = watch(directory, { persistent: false }, () => this.#notify());
    this.#watcher.on("error", (failure) => {
      this.#failure = failure;
      this.#notify();
    });
    for (const signal of wake) signal.addEventListener("abort", this.#notify, { once: true });
    this.#wake = wake;
  }

  readonly #wake: readonly AbortSignal[];

  readonly #notify = (): void => {
    this.#changed = true;
    this.#waiter?.resolve();
  };

  /** Resolves at the first change since the last call; a first call resolves at once. */
  async changed(): Promise<void> {
    if (!this.#changed) {
      this.#waiter = deferred();
      await this.#waiter.promise;
      this.#waiter = undefined;
    }
    this.#changed = false;
    if (this.#failure !== undefined) throw this.#failure;
  }

  close(): void {
    this.#watcher.close();
    for (const signal of this.#wake) signal.removeEventListener("abort", this.#notify);
  }
}
