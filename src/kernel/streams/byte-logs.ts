import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, hasCode, recover } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { ByteLog } from "./byte-log.ts";
import { fileName } from "./file-name.ts";
import { OpenPool } from "./open-pool.ts";

export interface ByteLogsOptions {
  /** Used by nothing else. */
  readonly directory: string;
  /** The first bytes of a new log; default: none. */
  readonly begin?: (name: string) => Uint8Array;
  /** Of one log; default: 1 GiB. An append beyond it rejects with `log-full`. */
  readonly maxBytes?: number;
  readonly openFiles?: number;
}

const suffix = ".log";

/** Append-only bytes by name, one file each. What can be read is durable. Must be closed. */
export class ByteLogs {
  readonly #options: ByteLogsOptions;
  readonly #open: OpenPool<ByteLog>;

  constructor(options: ByteLogsOptions) {
    const { maxBytes = 1024 ** 3, openFiles = 256 } = options;
    this.#options = options;
    this.#open = new OpenPool({
      async open(path) {
        await makeDirectories(options.directory, 0o700);
        return await ByteLog.open(path, maxBytes);
      },
      close: (log) => log.close(),
      mostOpen: openFiles,
    });
  }

  /** Resolves when the bytes are durable; rejects with `log-full`, or with the system's error. */
  async append(name: string, bytes: Uint8Array): Promise<void> {
    const { begin } = this.#options;
    const { opened, release } = await this.#open.acquire(this.#pathOf(name));
    let isGood = true;
    try {
      await opened.append(bytes, begin?.(name));
    } catch (thrown) {
      isGood = codeOf(thrown) === "log-full";
      throw thrown;
    } finally {
      await release(isGood);
    }
  }

  /** In bytes; undefined if there is no such log. */
  async size(name: string): Promise<number | undefined> {
    return (await this.#has(name)) ? await this.#open.use(this.#pathOf(name), async ({ size }) => size) : undefined;
  }

  /** Bytes from `start` up to `end`, which is not included; default: all. Nothing if there is no such log. */
  read(name: string, start = 0, end = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer, void> {
    return this.#reading(name, (log) => log.read(start, end));
  }

  /** From `start` on, and what comes, until the signal aborts or the log is removed. Nothing without such a log. */
  follow(name: string, start: number, signal: AbortSignal): AsyncGenerator<Buffer, void> {
    return this.#reading(name, (log) => log.follow(start, signal));
  }

  /** Durable and idempotent. Followers end. */
  async remove(name: string): Promise<void> {
    if (!(await this.#has(name))) return;
    const path = this.#pathOf(name);
    const { opened, release } = await this.#open.acquire(path);
    try {
      await opened.remove();
    } finally {
      await this.#open.forget((key) => key === path);
      await release();
    }
  }

  /** Of all logs whose names are names of files. */
  async names(): Promise<readonly string[]> {
    const files = await readdir(this.#options.directory).catch(recover(hasCode("ENOENT"), []));
    return files.filter((file) => file.endsWith(suffix)).map((file) => file.slice(0, -suffix.length));
  }

  async close(): Promise<void> {
    await this.#open.close();
  }

  async *#reading(name: string, read: (log: ByteLog) => AsyncGenerator<Buffer, void>): AsyncGenerator<Buffer, void> {
    if (!(await this.#has(name))) return;
    const { opened, release } = await this.#open.acquire(this.#pathOf(name));
    try {
      yield* read(opened);
    } finally {
      await release();
    }
  }

  #pathOf(name: string): string {
    return join(this.#options.directory, `${fileName(name)}${suffix}`);
  }

  async #has(name: string): Promise<boolean> {
    const path = this.#pathOf(name);
    return this.#open.isTaken(path) || (await stat(path).catch(orNothing)) !== undefined;
  }
}

const orNothing = (thrown: unknown): undefined => {
  if (codeOf(thrown) === "ENOENT") return undefined;
  throw thrown;
};
