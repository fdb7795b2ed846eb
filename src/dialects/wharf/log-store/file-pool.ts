import { type FileHandle, open } from "node:fs/promises";
import { deferred } from "#lib/base/index.ts";

export const mostOpenFiles = 128;

interface Opened {
  readonly handle: Promise<FileHandle>;
  users: number;
}

/** Keeps files open between uses and closes the least recently used ones. Files are created if missing, with mode 0600.
 */
export class FilePool {
  readonly #files = new Map<string, Opened>();
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #isClosed = false;

  constructor(most = mostOpenFiles) {
    this.#most = most;
  }

  /** `work` must not use the pool itself. */
  async use<T>(path: string, work: (handle: FileHandle) => Promise<T>): Promise<T> {
    const file = await this.#acquire(path);
    try {
      return await work(await file.handle);
    } catch (thrown) {
      // A file that could not be opened is not kept.
      await file.handle.catch(() => this.#forget(path, file));
      throw thrown;
    } finally {
      file.users--;
      this.#waiting.shift()?.();
      if (this.#isClosed && file.users === 0) await this.#close(path, file);
    }
  }

  /** Files in use are closed after their use. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const [path, file] of this.#files) if (file.users === 0) await this.#close(path, file);
  }

  /** Closes files with this prefix; they must not be used any more. */
  async drop(prefix: string): Promise<void> {
    for (const [path, file] of this.#files) {
      if (!path.startsWith(prefix)) continue;
      this.#files.delete(path);
      await close(file);
    }
  }

  get size(): number {
    return this.#files.size;
  }

  async #acquire(path: string): Promise<Opened> {
    for (;;) {
      const known = this.#files.get(path);
      if (known !== undefined || this.#files.size < this.#most) {
        const file = known ?? { handle: openFile(path), users: 0 };
        file.users++;
        this.#files.delete(path);
        this.#files.set(path, file);
        return file;
      }
      const idle = [...this.#files].find(([, { users }]) => users === 0);
      if (idle !== undefined) {
        this.#files.delete(idle[0]);
        await close(idle[1]);
        continue;
      }
      const turn = deferred<void>();
      this.#waiting.push(() => turn.resolve());
      await turn.promise;
    }
  }

  async #close(path: string, file: Opened): Promise<void> {
    this.#forget(path, file);
    await close(file);
  }

  #forget(path: string, file: Opened): void {
    if (this.#files.get(path) === file) this.#files.delete(path);
  }
}

function openFile(path: string): Promise<FileHandle> {
  // Not `a`: writes go to known offsets.
  const handle = open(path, "r+").catch(() => open(path, "wx+", 0o600));
  handle.catch(() => undefined);
  return handle;
}

const close = ({ handle }: Opened): Promise<void> => handle.then((opened) => opened.close()).catch(() => undefined);
