import { type FileHandle, open } from "node:fs/promises";
import { deferred } from "#lib/base/index.ts";

/** Open at a time, for thousands of builds. */
export const mostOpenFiles = 128;

interface Opened {
  /** Being opened, or open. */
  readonly handle: Promise<FileHandle>;
  /** Uses that are under way. */
  users: number;
}

/**
 * Files that stay open between uses, so that a line does not cost an open and a close; those unused for longest are closed first. Files
 * are opened for reading and writing and made when they are missing, with mode 0600.
 */
export class FilePool {
  /** In order of their last use. */
  readonly #files = new Map<string, Opened>();
  readonly #most: number;
  /** Who waits until one may be opened. */
  readonly #waiting: (() => void)[] = [];
  #isClosed = false;

  constructor(most = mostOpenFiles) {
    this.#most = most;
  }

  /** Runs `work` on an open file. `work` must not use the pool itself: it would wait for its own end. */
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

  /** Closes all files. Who is in the middle of reading may use them a little longer: each is closed after its use. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const [path, file] of this.#files) if (file.users === 0) await this.#close(path, file);
  }

  /** Closes the files of paths that begin so, when nobody uses them; they must not be used any more. */
  async drop(prefix: string): Promise<void> {
    for (const [path, file] of this.#files) {
      if (!path.startsWith(prefix)) continue;
      this.#files.delete(path);
      await close(file);
    }
  }

  /** How many are open. */
  get size(): number {
    return this.#files.size;
  }

  /** Open, and not closed before its use has ended. */
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

  /** Unless another has taken its place. */
  #forget(path: string, file: Opened): void {
    if (this.#files.get(path) === file) this.#files.delete(path);
  }
}

function openFile(path: string): Promise<FileHandle> {
  // Not `a`: what was cut off is written again at a place that the writer knows.
  const handle = open(path, "r+").catch(() => open(path, "wx+", 0o600));
  handle.catch(() => undefined);
  return handle;
}

/** What has to be on the disk was flushed before. One that could not be opened was told to who wanted it. */
const close = ({ handle }: Opened): Promise<void> => handle.then((opened) => opened.close()).catch(() => undefined);
