import { type FSWatcher, watch } from "node:fs";
import { type Deferred, deferred, onAbort, type Cancel } from "#lib/base/index.ts";

/**
 * Reports changes of a directory without polling. Changes between two calls of `changed` are not lost, and are reported
 * once. For one caller at a time. Close it. On Linux it is one inotify watch, whose number per user is limited: the
 * constructor throws above the limit.
 */
export class DirectoryWatch {
  readonly #watcher: FSWatcher;
  // What was there before the watch began counts as the first change.
  #changed = true;
  #waiter: Deferred<void> | undefined;
  #failure: Error | undefined;

  /** The directory must exist. An abort of a signal in `wake` counts as a change. Lets the process exit. */
  constructor(directory: string, wake: readonly AbortSignal[]) {
    this.#watcher = watch(directory, { persistent: false }, () => this.#notify());
    this.#watcher.on("error", (failure) => {
      this.#failure = failure;
      this.#notify();
    });
    this.#forget = wake.map((signal) => onAbort(signal, () => this.#notify()));
  }

  readonly #forget: readonly Cancel[];

  #notify(): void {
    this.#changed = true;
    this.#waiter?.resolve();
  }

  /** Resolves at the first change since the last call; the first call at once. Rejects if the watch failed. */
  async changed(): Promise<void> {
    if (!this.#changed) {
      this.#waiter = deferred();
      await this.#waiter.promise;
      this.#waiter = undefined;
    }
    this.#changed = false;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** A pending call of `changed` is not resolved. */
  close(): void {
    this.#watcher.close();
    for (const forget of this.#forget) forget();
  }
}
