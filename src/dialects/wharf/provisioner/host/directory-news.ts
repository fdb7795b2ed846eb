import { type FSWatcher, watch } from "node:fs";

/** Watches directories; without free watches callers rely on polling. */
export class DirectoryNews {
  readonly #watchers = new Map<string, FSWatcher>();

  /** A missing directory is retried by the next call. */
  follow(directory: string, tell: () => void): void {
    if (this.#watchers.has(directory)) return;
    try {
      const watcher = watch(directory, { persistent: false }, tell);
      watcher.on("error", () => this.forget(directory));
      this.#watchers.set(directory, watcher);
    } catch {
      // Missing, or too many watches: polling is enough.
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
