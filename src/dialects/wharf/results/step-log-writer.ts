import { type FileHandle, open } from "node:fs/promises";
import { type Clock, codeOf, type Deferred, deferred, type Instant, messageOf } from "#lib/base/index.ts";
import { Masker, writeWhole } from "#kernel/streams/index.ts";
import { resultsError } from "./errors.ts";
import { LineCutter } from "./line-cutter.ts";
import type { LinePage } from "./line-page.ts";
import { timeOf } from "./log-line.ts";
import type { StepLog } from "./step-log.ts";

export type OutputStream = "stdout" | "stderr" | "slipway";
const streams: readonly OutputStream[] = ["stdout", "stderr", "slipway"];

export const defaultMaxLineBytes = 1024 * 1024;

export interface StepLogOptions {
  readonly clock: Clock;
  /** Values replaced by `***`. */
  readonly masked?: readonly string[];
  /** At most and by default 1 MiB. */
  readonly maxLineBytes?: number;
  readonly onDrain?: () => void;
  readonly onLoss?: (failure: Error) => void;
}

const highWater = 1024 * 1024;

/** Creates the log file; rejects with `log-taken` if it exists. */
export async function openStepLog(log: StepLog, options: StepLogOptions): Promise<StepLogWriter> {
  const handle = await open(log.path, "ax", 0o600).catch((thrown: unknown) => {
    const problem = `log of step ${log.stepId}: cannot create ${log.path}: ${messageOf(thrown)}`;
    if (codeOf(thrown) !== "EEXIST") throw resultsError("results-lost", problem, { cause: thrown });
    throw resultsError("log-taken", `log of step ${log.stepId}: ${log.path} has a writer already`, { cause: thrown });
  });
  return new StepLogWriter(log, handle, options);
}

/** Writes a step's log: one write at a time, with everything gathered meanwhile in the next one. Readers see lines
 * after their write. A failed disk ends the log at its last whole line, not the step. Synced by `close`. Never rejects
 * because of the disk. */
export class StepLogWriter {
  readonly #log: StepLog;
  readonly #handle: FileHandle;
  readonly #options: StepLogOptions;
  readonly #cutters: Readonly<Record<OutputStream, LineCutter>>;
  readonly #maskers: Readonly<Record<OutputStream, Masker>> | undefined;
  #waiting: LinePage[] = [];
  #waitingBytes = 0;
  #full = false;
  #paused: Deferred<void> | undefined;
  #writing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #stampedAt: Instant = Number.NaN;
  #stamp: Buffer = Buffer.alloc(0);

  constructor(log: StepLog, handle: FileHandle, options: StepLogOptions) {
    const { masked = [], maxLineBytes = defaultMaxLineBytes } = options;
    const most = Math.min(maxLineBytes, defaultMaxLineBytes);
    const forEach = <T>(make: () => T): Record<OutputStream, T> => ({
      stdout: make(),
      stderr: make(),
      slipway: make(),
    });
    this.#log = log;
    this.#handle = handle;
    this.#options = options;
    this.#cutters = forEach(() => new LineCutter(most));
    this.#maskers = masked.length === 0 ? undefined : forEach(() => new Masker(masked));
  }

  /** Takes ownership of the chunk. `time` is the runtime's timestamp (RFC 3339). False: wait for `drained`. Chunks
   * after a failure or `close` are dropped. */
  append(stream: OutputStream, chunk: Buffer, time?: string): boolean {
    if (this.#log.failure !== undefined || this.#closing !== undefined) return true;
    const shown = this.#maskers === undefined ? chunk : this.#maskers[stream].take(chunk);
    this.#put(this.#cutters[stream].take(shown, time === undefined ? this.#now() : Buffer.from(`${time} `, "latin1")));
    this.#full = this.#waitingBytes > highWater;
    return !this.#full;
  }

  drained(): Promise<void> {
    if (!this.#full) return Promise.resolve();
    this.#paused ??= deferred();
    return this.#paused.promise;
  }

  /** Resolves when everything is readable and synced, or lost. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    for (const stream of streams) {
      if (this.#maskers !== undefined) this.#put(this.#cutters[stream].take(this.#maskers[stream].end(), this.#now()));
      this.#put(this.#cutters[stream].end());
    }
    while (this.#writing !== undefined) await this.#writing;
    // An empty log need not survive power loss: a missing one reads as empty.
    if (this.#log.bytes > 0) await this.#handle.datasync().catch((thrown: unknown) => this.#fail(thrown));
    await this.#handle.close().catch((thrown: unknown) => this.#fail(thrown));
    this.#log.end();
  }

  #now(): Buffer {
    const at = this.#options.clock.now();
    if (at !== this.#stampedAt) [this.#stampedAt, this.#stamp] = [at, timeOf(at)];
    return this.#stamp;
  }

  /** Nothing is written after a failure. */
  #put(page: LinePage): void {
    if (page.lines === 0 || this.#log.failure !== undefined) return;
    this.#waiting.push(page);
    this.#waitingBytes += page.bytes().length;
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    // Collects chunks of the same turn.
    await Promise.resolve();
    try {
      while (this.#waiting.length > 0) {
        const pages = this.#take();
        await writeWhole(
          this.#handle,
          pages.map((page) => page.bytes()),
        );
        this.#publish(pages);
      }
    } catch (thrown) {
      await this.#lose(thrown);
    } finally {
      this.#writing = undefined;
    }
  }

  #take(): readonly LinePage[] {
    const pages = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (this.#full) {
      this.#full = false;
      this.#options.onDrain?.();
      this.#paused?.resolve();
      this.#paused = undefined;
    }
    return pages;
  }

  #publish(pages: readonly LinePage[]): void {
    let [id, offset] = [this.#log.lines + 1, this.#log.bytes];
    for (const page of pages) {
      this.#log.index.note({ id, offset });
      id += page.lines;
      offset += page.bytes().length;
    }
    this.#log.publish(offset - this.#log.bytes, id - 1 - this.#log.lines);
  }

  /** Truncates a partial write and drops waiting output. */
  async #lose(thrown: unknown): Promise<void> {
    await this.#handle.truncate(this.#log.bytes).catch(() => undefined);
    this.#fail(thrown);
    this.#take();
  }

  #fail(thrown: unknown): void {
    if (this.#log.failure !== undefined) return;
    const problem = `log of step ${this.#log.stepId}: cannot write ${this.#log.path}: ${messageOf(thrown)}`;
    const failure = resultsError("results-lost", problem, { cause: thrown });
    this.#log.fail(failure);
    this.#options.onLoss?.(failure);
  }
}
