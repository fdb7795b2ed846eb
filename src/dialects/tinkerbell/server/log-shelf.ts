import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Cancel, type Clock, codeOf, type Millis } from "#lib/base/index.ts";
import { TokenBucket } from "#kernel/kit/index.ts";
import { ReceivedLog } from "#kernel/logs/index.ts";
import { RpcError } from "#kernel/rpc/index.ts";
import { fileName, logFolder, logPath, logRotation } from "../logs/places.ts";

// Output is foreign: a log is a ring, a workflow has a rate limit, all logs together have a size limit. Nothing is
// acknowledged before it is on the disk, so refused chunks are not lost.

export interface LogShelfOptions {
  /** Used by nothing else. */
  readonly directory: string;
  readonly clock: Clock;
  /** Of all logs together. */
  readonly maxBytes: number;
}

export interface HeldLog {
  readonly log: ReceivedLog;
  /** `isWhole`: no operation on it failed. */
  release(isWhole: boolean): Promise<void>;
}

interface Taken {
  log: Promise<ReceivedLog>;
  users: number;
  /** Set without writers: prevents closing. */
  forget?: Cancel;
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
  /** By path: open logs, idle ones in order of last use. */
  readonly #taken = new Map<string, Taken>();
  #idle = 0;
  readonly #closing = new Map<string, Promise<void>>();
  #isClosed = false;
  readonly #rates = new Map<string, TokenBucket>();
  readonly #sizes = new Map<string, number>();
  /** All remaining logs belong to unfinished workflows. */
  #isFull = false;

  constructor(options: LogShelfOptions) {
    this.#options = options;
  }

  /** Opens or shares a log. Rejects with UNAVAILABLE if there is no room. */
  async open(uid: string, action: string): Promise<HeldLog> {
    if (this.#isFull) throw new RpcError("UNAVAILABLE", "this server has no room for more logs");
    const path = logPath(this.#options.directory, uid, action);
    const taken = this.#take(path);
    try {
      return { log: await taken.log, release: (isWhole) => this.#release(path, taken, isWhole) };
    } catch (thrown) {
      await this.#release(path, taken, false);
      throw thrown;
    }
  }

  isTaken(uid: string, action: string): boolean {
    return (this.#taken.get(logPath(this.#options.directory, uid, action))?.users ?? 0) > 0;
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
    for (const [path, taken] of this.#taken) if (path.startsWith(folder)) await this.#forget(path, taken);
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
    this.#isClosed = true;
    for (const [path, taken] of this.#taken) await this.#forget(path, taken);
  }

  /** A log with a failed operation is reopened by the next writer, which repairs it. */
  async #release(path: string, taken: Taken, isWhole: boolean): Promise<void> {
    taken.users--;
    const isKnown = this.#taken.get(path) === taken;
    if (!isWhole && isKnown) this.#taken.delete(path);
    if (taken.users > 0) return;
    if (!isWhole || !isKnown || this.#isClosed) return await this.#close(path, taken);
    this.#taken.delete(path);
    this.#taken.set(path, taken);
    this.#idle++;
    taken.forget = this.#options.clock.after(idleFor, () => void this.#forget(path, taken));
    const [oldest] = this.#idle > maxIdle ? [...this.#taken].filter(([, { users }]) => users === 0) : [];
    if (oldest !== undefined) await this.#forget(...oldest);
  }

  async #forget(path: string, taken: Taken): Promise<void> {
    if (taken.users > 0 || this.#taken.get(path) !== taken) return;
    this.#wake(taken);
    await this.#close(path, taken);
  }

  /** Never rejects: the writers know of the failure. */
  async #close(path: string, taken: Taken): Promise<void> {
    if (this.#taken.get(path) === taken) this.#taken.delete(path);
    const done = taken.log.then((log) => log.close()).catch(() => undefined);
    this.#closing.set(path, done);
    await done;
    if (this.#closing.get(path) === done) this.#closing.delete(path);
  }

  #wake(taken: Taken): void {
    if (taken.forget === undefined) return;
    taken.forget();
    delete taken.forget;
    this.#idle--;
  }

  #take(path: string): Taken {
    const known = this.#taken.get(path);
    if (known !== undefined) {
      // Another process may have removed the files.
      if (known.users++ === 0) known.log = known.log.then((log) => whereItWas(log, path));
      this.#wake(known);
      return known;
    }
    if (this.#taken.size - this.#idle >= maxOpen)
      throw new RpcError("UNAVAILABLE", "too many logs are written at once");
    const before = this.#closing.get(path) ?? Promise.resolve();
    const taken: Taken = { log: before.then(() => ReceivedLog.open(path, logRotation)), users: 1 };
    this.#taken.set(path, taken);
    return taken;
  }
}

/** The log, or a new one if its file is gone. */
async function whereItWas(log: ReceivedLog, path: string): Promise<ReceivedLog> {
  if (await log.isThere()) return log;
  await log.close().catch(() => undefined); // What it could not remove has gone, too.
  return await ReceivedLog.open(path, logRotation);
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
