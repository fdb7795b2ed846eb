import { stat } from "node:fs/promises";

/** How long writes may be acknowledged into a file that has been removed. A look costs 30 us, a commit at least 100. */
const lookEveryMs = 100;

/**
 * Files that have to stay in their places while they are in use: the flush of a removed file succeeds, and nobody will ever read it.
 */
export class WatchedFiles {
  readonly #placeByPath = new Map<string, string | undefined>();
  #lookedAt = Number.NEGATIVE_INFINITY;

  async add(path: string): Promise<void> {
    this.#placeByPath.set(path, await placeOf(path));
  }

  /** Rejects when a file is gone or another one has its name. Looks no more often than makes sense. */
  async assertInPlace(): Promise<void> {
    if (performance.now() < this.#lookedAt + lookEveryMs) return;
    this.#lookedAt = performance.now();
    for (const [path, place] of this.#placeByPath) {
      if ((await placeOf(path)) !== place) throw new Error(`${path} has been removed or replaced while it was in use`);
    }
  }
}

/** Tells a file from one that was put in its place; undefined when there is none. */
async function placeOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}
