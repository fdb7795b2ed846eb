import { type FSWatcher, watch } from "node:fs";
import { type Deferred, deferred } from "#lib/base/index.ts";

/**
 * Tells when something in a directory changed, without looking at intervals. Changes between two calls of `changed` are not
 * lost and are told once, however many they were. For one caller at a time. Close it.
 *
 * On Linux it is one inotify watch: their number per user is limited, and the constructor throws when it is used up.
 */
export class DirectoryWatch {
  readonly #watcher: FSWatcher;
  // True from the start: what was there before the watch began counts as the first change.
  #changed = true;
  #waiter: Deferred<void> | undefined;
  #failure: Error | undefined;

  /** The directory must exist. `wake` signals count as changes when they abort. Keeps no process alive. */
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

  /** Resolves at the first change since the last call; a first call resolves at once. Rejects when the watch itself has failed. */
  async changed(): Promise<void> {
    if (!this.#changed) {
      this.#waiter = deferred();
      await this.#waiter.promise;
      this.#waiter = undefined;
    }
    this.#changed = false;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Ends the watch. A call of `changed` that waits goes on waiting: whoever closes is the one who would wait. */
  close(): void {
    this.#watcher.close();
    for (const signal of this.#wake) signal.removeEventListener("abort", this.#notify);
  }
}
