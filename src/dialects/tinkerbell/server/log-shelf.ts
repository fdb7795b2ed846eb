import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, codeOf, type Millis } from "#lib/base/index.ts";
import { TokenBucket } from "#kernel/kit/index.ts";
import { fileName, type Held, OpenPool, ReceivedLog } from "#kernel/streams/index.ts";
import { RpcError } from "#kernel/rpc/index.ts";
import { logFolder, logPath, logRotation } from "../logs/places.ts";

// Output is foreign: a log is a ring, a workflow has a rate limit, all logs together have a size limit. Nothing is
// acknowledged before it is on the disk, so refused chunks are not lost.

export interface LogShelfOptions {
  /** Used by nothing else. */
  readonly directory: string;
  readonly clock: Clock;
  /** Of all logs together. */
  readonly maxBytes: number;
}

/** Each costs an open file. */
const maxOpen = 2000;
/** Logs without writers stay open for the next batch. */
const maxIdle = 200;
const idleFor: Millis = 10_000;
const mebibyte = 1024 * 1024;
/** More than actions print, less than blocks others. Each chunk costs something besides. */
const rate = { perSecond: 128 * mebibyte, burst: 128 * mebibyte };
const costOfChunk = 512;

/** Logs on this server's disk, each with one writer at a time for all its streams. */
export class LogShelf {
  readonly #options: LogShelfOptions;
  readonly #open: OpenPool<ReceivedLog>;
  readonly #rates = new Map<string, TokenBucket>();
  readonly #sizes = new Map<string, number>();
  /** All remaining logs belong to unfinished workflows. */
  #isFull = false;

  constructor(options: LogShelfOptions) {
    this.#options = options;
    this.#open = new OpenPool({
      open: (path) => ReceivedLog.open(path, logRotation),
      close: (log) => log.close(),
      // Another process may have removed the files.
      isGood: (log) => log.isThere(),
      refusal: () => new RpcError("UNAVAILABLE", "too many logs are written at once"),
      idleFor: { clock: options.clock, ms: idleFor },
      mostIdle: maxIdle,
      mostOpen: maxOpen,
    });
  }

  /** Opens or shares a log, which must be released. Rejects with UNAVAILABLE if there is no room. */
  async open(uid: string, action: string): Promise<Held<ReceivedLog>> {
    if (this.#isFull) throw new RpcError("UNAVAILABLE", "this server has no room for more logs");
    return await this.#open.acquire(logPath(this.#options.directory, uid, action));
  }

  isTaken(uid: string, action: string): boolean {
    return this.#open.isTaken(logPath(this.#options.directory, uid, action));
  }

  delayOf(uid: string, bytes: number): Millis {
    const bucket = this.#rates.get(uid) ?? new TokenBucket(rate);
    // Unused limits are full again.
    if (this.#rates.size >= maxOpen) this.#rates.clear();
    this.#rates.set(uid, bucket);
    return bucket.reserve(this.#options.clock.monotonic(), bytes + costOfChunk);
  }

  grown(uid: string, bytes: number): void {
    const name = fileName(uid);
    this.#sizes.set(name, (this.#sizes.get(name) ?? 0) + bytes);
  }

  /** Whether the limit is exceeded, as far as counted; what rings dropped is counted until `measure`. */
  get isOverfull(): boolean {
    let total = 0;
    for (const size of this.#sizes.values()) total += size;
    return total > this.#options.maxBytes;
  }

  async folders(): Promise<readonly string[]> {
    return await readdir(this.#options.directory).catch(orNone);
  }

  async measure(): Promise<void> {
    const names = await this.folders();
    for (const known of this.#sizes.keys()) if (!names.includes(known)) this.#sizes.delete(known);
    for (const name of names) this.#sizes.set(name, await sizeOf(join(this.#options.directory, name)));
    this.#isFull = this.isOverfull;
  }

  async remove(name: string): Promise<void> {
    const folder = join(this.#options.directory, name, "/");
    await this.#open.closeIdle((path) => path.startsWith(folder));
    await rm(join(this.#options.directory, name), { recursive: true, force: true });
    this.#sizes.delete(name);
    this.#isFull &&= this.isOverfull;
  }

  /** Whether a workflow has a folder or readers. */
  async has(uid: string): Promise<boolean> {
    return (await stat(logFolder(this.#options.directory, uid)).catch(() => undefined)) !== undefined;
  }

  /** Closes idle logs now and the rest when their writers end. */
  async close(): Promise<void> {
    await this.#open.close();
  }
}

const orNone = (thrown: unknown): readonly string[] => {
  if (codeOf(thrown) === "ENOENT") return [];
  throw thrown;
};

/** Files that vanish count as empty. */
async function sizeOf(folder: string): Promise<number> {
  let total = 0;
  for (const file of await readdir(folder).catch(() => [])) {
    const found = await stat(join(folder, file)).catch(() => undefined);
    total += found?.size ?? 0;
  }
  return total;
}
