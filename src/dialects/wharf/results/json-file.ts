import { type FileHandle, open, rename, rm } from "node:fs/promises";

/**
 * Writes a file so that a reader, and a crash of the process, meet the old one or the new one and never half of either. For a power cut that
 * is so with `isSynced` alone, which costs a flush. `draft` is where it is written first; two writers need two of them. Rejects with what
 * the disk says; the old file is there then.
 */
export async function writeJson(path: string, value: unknown, draft = `${path}.next`, isSynced = false): Promise<void> {
  const handle: FileHandle = await open(draft, "w", 0o600);
  try {
    try {
      await handle.writeFile(`${JSON.stringify(value)}\n`);
      if (isSynced) await handle.datasync();
    } finally {
      await handle.close();
    }
    await rename(draft, path);
  } catch (thrown) {
    await rm(draft, { force: true });
    throw thrown;
  }
}

/**
 * A JSON file that one process keeps up to date. What changes while it is being written is in the next writing, however many changes they
 * were, so that a thousand steps that end together cost two writings.
 */
export class JsonFile {
  readonly #path: string;
  readonly #value: () => unknown;
  #turn: Promise<unknown> = Promise.resolve();
  #next: Promise<void> | undefined;
  #isSynced = false;
  /** What is in the file is on the disk as well. */
  #isOnDisk = false;

  /** `value` is asked when writing begins. */
  constructor(path: string, value: () => unknown) {
    this.#path = path;
    this.#value = value;
  }

  /** Resolves when what is true at this moment is in the file; rejects when it is not. `isSynced`: on the disk as well. */
  write(isSynced = false): Promise<void> {
    this.#isSynced ||= isSynced;
    this.#next ??= this.#turn.then(async () => {
      this.#next = undefined;
      const synced = this.#isSynced;
      this.#isSynced = false;
      this.#isOnDisk = false;
      await writeJson(this.#path, this.#value(), undefined, synced);
      this.#isOnDisk = synced;
    });
    this.#turn = this.#next.catch(() => undefined);
    return this.#next;
  }

  /** Brings what was written to the disk, unless it is there. For a value that has not changed since the last `write`. */
  async sync(): Promise<void> {
    await this.#turn;
    if (!this.#isOnDisk) await this.write(true);
  }
}
