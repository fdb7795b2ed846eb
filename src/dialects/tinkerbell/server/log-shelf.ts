import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Cancel, type Clock, codeOf, type Millis } from "#lib/base/index.ts";
import { TokenBucket } from "#kernel/kit/index.ts";
import { ReceivedLog } from "#kernel/logs/index.ts";
import { RpcError } from "#kernel/rpc/index.ts";
import { fileName, logFolder, logPath, logRotation } from "../log-places.ts";

// What agents print is somebody else's and may be anything: a log is a ring, a workflow has a rate, and all logs together have a limit. Nothing
// of it is acknowledged before it is on the disk, so that an agent which is not answered has it still, and whatever is refused here is not lost.

export interface LogShelfOptions {
  /** Nobody else writes there. */
  readonly directory: string;
  readonly clock: Clock;
  /** Of all logs together. */
  readonly maxBytes: number;
}

/** A log for one writer, until it is released. */
export interface HeldLog {
  readonly log: ReceivedLog;
  /** `isWhole`: nothing that was done with it has failed. */
  release(isWhole: boolean): Promise<void>;
}

/** A log that is open. */
interface Taken {
  log: Promise<ReceivedLog>;
  /** Nobody writes to it while there are none. */
  users: number;
  /** Present while there are none: keeps it from being closed. */
  forget?: Cancel;
}

/** Each costs an open file. */
const maxOpen = 2000;
/** Of those that nobody writes to: whoever sent a batch sends the next one soon. */
const maxIdle = 200;
const idleFor: Millis = 10_000;
const mebibyte = 1024 * 1024;
/** What one workflow may send: more than its actions print, and less than keeps everybody else waiting. Each chunk costs something besides. */
const rate = { perSecond: 128 * mebibyte, burst: 128 * mebibyte };
const costOfChunk = 512;

/** The logs of actions on this server's disk: each is written by one at a time, however many streams bring it. */
export class LogShelf {
  readonly #options: LogShelfOptions;
  /** By path: those that are written to, and those that were a moment ago, which are in the order of their last use. */
  readonly #taken = new Map<string, Taken>();
  /** Of those, how many nobody writes to. */
  #idle = 0;
  /** By path: those that are being closed. */
  readonly #closing = new Map<string, Promise<void>>();
  #isClosed = false;
  readonly #rates = new Map<string, TokenBucket>();
  /** Bytes by the name of the workflow's folder, as far as they were counted. */
  readonly #sizes = new Map<string, number>();
  /** All that is left belongs to workflows that go on. */
  #isFull = false;

  constructor(options: LogShelfOptions) {
    this.#options = options;
  }

  /** Opens a log, or shares one that is open. Rejects with UNAVAILABLE when there is no room. */
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

  /** Whether somebody writes to it. */
  isTaken(uid: string, action: string): boolean {
    return (this.#taken.get(logPath(this.#options.directory, uid, action))?.users ?? 0) > 0;
  }

  /** How long a workflow has to wait before it may send so much more. */
  delayOf(uid: string, bytes: number): Millis {
    const bucket = this.#rates.get(uid) ?? new TokenBucket(rate);
    // Those that were not asked for a while are full again.
    if (this.#rates.size >= maxOpen) this.#rates.clear();
    this.#rates.set(uid, bucket);
    return bucket.reserve(this.#options.clock.monotonic(), bytes + costOfChunk);
  }

  /** A log has grown. */
  grown(uid: string, bytes: number): void {
    const name = fileName(uid);
    this.#sizes.set(name, (this.#sizes.get(name) ?? 0) + bytes);
  }

  /** Whether there are more than may be, as far as it was counted. What the rings have dropped is counted until `measure`. */
  get isOverfull(): boolean {
    let total = 0;
    for (const size of this.#sizes.values()) total += size;
    return total > this.#options.maxBytes;
  }

  /** Names of the folders that are there, whatever they hold. */
  async folders(): Promise<readonly string[]> {
    return await readdir(this.#options.directory).catch(orNone);
  }

  /** Counts what is there. */
  async measure(): Promise<void> {
    const names = await this.folders();
    for (const known of this.#sizes.keys()) if (!names.includes(known)) this.#sizes.delete(known);
    for (const name of names) this.#sizes.set(name, await sizeOf(join(this.#options.directory, name)));
    this.#isFull = this.isOverfull;
  }

  /** Removes a folder with all that is in it, also while somebody writes. */
  async remove(name: string): Promise<void> {
    const folder = join(this.#options.directory, name, "/");
    for (const [path, taken] of this.#taken) if (path.startsWith(folder)) await this.#forget(path, taken);
    await rm(join(this.#options.directory, name), { recursive: true, force: true });
    this.#sizes.delete(name);
    this.#isFull &&= this.isOverfull;
  }

  /** Whether there is anything of a workflow, if only somebody who waits for its logs. */
  async has(uid: string): Promise<boolean> {
    return (await stat(logFolder(this.#options.directory, uid)).catch(() => undefined)) !== undefined;
  }

  /** Closes what nobody writes to, and the rest when its writers have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const [path, taken] of this.#taken) await this.#forget(path, taken);
  }

  /** What is not whole is opened anew by whoever comes next, which takes back what is half there. */
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

  /** Closes it if nobody writes to it. */
  async #forget(path: string, taken: Taken): Promise<void> {
    if (taken.users > 0 || this.#taken.get(path) !== taken) return;
    this.#wake(taken);
    await this.#close(path, taken);
  }

  /** Never rejects: what goes wrong now was told to whoever has written. */
  async #close(path: string, taken: Taken): Promise<void> {
    if (this.#taken.get(path) === taken) this.#taken.delete(path);
    const done = taken.log.then((log) => log.close()).catch(() => undefined);
    this.#closing.set(path, done);
    await done;
    if (this.#closing.get(path) === done) this.#closing.delete(path);
  }

  /** It is not idle any more. */
  #wake(taken: Taken): void {
    if (taken.forget === undefined) return;
    taken.forget();
    delete taken.forget;
    this.#idle--;
  }

  #take(path: string): Taken {
    const known = this.#taken.get(path);
    if (known !== undefined) {
      // Who has removed files meanwhile may not have asked this server.
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

/** The log itself, or another one for its path when its file has gone. */
async function whereItWas(log: ReceivedLog, path: string): Promise<ReceivedLog> {
  if (await log.isThere()) return log;
  await log.close().catch(() => undefined); // What it could not remove has gone, too.
  return await ReceivedLog.open(path, logRotation);
}

/** Nothing was kept yet. */
const orNone = (thrown: unknown): readonly string[] => {
  if (codeOf(thrown) === "ENOENT") return [];
  throw thrown;
};

/** Files that go in this moment count as nothing. */
async function sizeOf(folder: string): Promise<number> {
  let total = 0;
  for (const file of await readdir(folder).catch(() => [])) {
    const found = await stat(join(folder, file)).catch(() => undefined);
    total += found?.size ?? 0;
  }
  return total;
}
