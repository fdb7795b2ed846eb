import { type FSWatcher, watch } from "node:fs";

/** Tells of changes in directories, which come and go. Where the system has no more watches to give nothing is told: somebody looks anyway. */
export class DirectoryNews {
  readonly #watchers = new Map<string, FSWatcher>();

  /** From now on, unless it is so already. A directory that is not there yet is tried again by the next call. */
  follow(directory: string, tell: () => void): void {
    if (this.#watchers.has(directory)) return;
    try {
      const watcher = watch(directory, { persistent: false }, tell);
      watcher.on("error", () => this.forget(directory));
      this.#watchers.set(directory, watcher);
    } catch {
      // It is not there, or there are too many watches: looking at intervals does without.
    }
  }

  forget(directory: string): void {
    this.#watchers.get(directory)?.close();
    this.#watchers.delete(directory);
  }

  close(): void {
    for (const directory of this.#watchers.keys()) this.forget(directory);
  }
}
