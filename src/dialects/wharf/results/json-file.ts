import { replaceFile } from "#lib/base/index.node.ts";

/** Replaces a file atomically; `isDurable` also survives power loss. Concurrent writers need different drafts. */
export const writeJson = (path: string, value: unknown, draft = `${path}.next`, isDurable = false): Promise<void> =>
  replaceFile(path, `${JSON.stringify(value)}\n`, { draft, isDurable });

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

  async sync(): Promise<void> {
    await this.#turn;
    if (!this.#isOnDisk) await this.write(true);
  }
}
