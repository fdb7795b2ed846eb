import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, codeOf, type Millis } from "#lib/base/index.ts";
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

/** A log that somebody writes to. */
interface Taken {
  readonly log: Promise<ReceivedLog>;
  users: number;
}

/** Each costs an open file. */
const maxOpen = 2000;
const mebibyte = 1024 * 1024;
/** What one workflow may send: more than its actions print, and less than keeps everybody else waiting. Each chunk costs something besides. */
const rate = { perSecond: 128 * mebibyte, burst: 128 * mebibyte };
const costOfChunk = 512;

/** The logs of actions on this server's disk: each is written by one at a time, however many streams bring it. */
export class LogShelf {
  readonly #options: LogShelfOptions;
  /** By path; as many as are written at this moment. */
  readonly #taken = new Map<string, Taken>();
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
    return this.#taken.has(logPath(this.#options.directory, uid, action));
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
    await rm(join(this.#options.directory, name), { recursive: true, force: true });
    this.#sizes.delete(name);
    this.#isFull &&= this.isOverfull;
  }

  /** Whether there is anything of a workflow, if only somebody who waits for its logs. */
  async has(uid: string): Promise<boolean> {
    return (await stat(logFolder(this.#options.directory, uid)).catch(() => undefined)) !== undefined;
  }

  /** What is not whole is opened anew by whoever comes next, which takes back what is half there. */
  async #release(path: string, taken: Taken, isWhole: boolean): Promise<void> {
    taken.users--;
    if (this.#taken.get(path) === taken && (!isWhole || taken.users === 0)) this.#taken.delete(path);
    if (taken.users === 0) await taken.log.then((log) => log.close()).catch(() => undefined);
  }

  #take(path: string): Taken {
    const known = this.#taken.get(path);
    if (known !== undefined) {
      known.users++;
      return known;
    }
    if (this.#taken.size >= maxOpen) throw new RpcError("UNAVAILABLE", "too many logs are written at once");
    const taken: Taken = { log: ReceivedLog.open(path, logRotation), users: 1 };
    this.#taken.set(path, taken);
    return taken;
  }
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
