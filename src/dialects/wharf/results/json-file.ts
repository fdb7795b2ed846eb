import { type FileHandle, open, rename, rm } from "node:fs/promises";

/**
 * Replaces a file atomically; `isSynced` also survives power loss. `draft` is the temporary file; concurrent writers
 * need different ones. On failure the old file remains.
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

/** A JSON file that one process keeps up to date. Changes during a write are combined into the next one. */
export class JsonFile {
  readonly #path: string;
  readonly #value: () => unknown;
  #turn: Promise<unknown> = Promise.resolve();
  #next: Promise<void> | undefined;
  #isSynced = false;
  #isOnDisk = false;

  constructor(path: string, value: () => unknown) {
    this.#path = path;
    this.#value = value;
  }

  /** Resolves when the current value is in the file, and with `isSynced` on the disk. */
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

  /** Syncs the last written value. */
  async sync(): Promise<void> {
    await this.#turn;
    if (!this.#isOnDisk) await this.write(true);
  }
}
