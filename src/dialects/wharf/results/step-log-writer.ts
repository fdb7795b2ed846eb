import { type FileHandle, open } from "node:fs/promises";
import { type Clock, codeOf, type Deferred, deferred, type Instant, messageOf } from "#lib/base/index.ts";
import { Masker, writeWhole } from "#kernel/logs/index.ts";
import { resultsError } from "./errors.ts";
import { LineCutter } from "./line-cutter.ts";
import type { LinePage } from "./line-page.ts";
import { timeOf } from "./log-line.ts";
import type { StepLog } from "./step-log.ts";

/** Where output comes from; each has lines of its own. `slipway`: what the worker itself has to say in a step's log. */
export type OutputStream = "stdout" | "stderr" | "slipway";
const streams: readonly OutputStream[] = ["stdout", "stderr", "slipway"];

/** A message of output; a longer line goes on in further ones. */
export const defaultMaxLineBytes = 1024 * 1024;

export interface StepLogOptions {
  readonly clock: Clock;
  /** Values that are not written: `***` stands in their place. */
  readonly masked?: readonly string[];
  /** At most 1 MiB, which is what it is when absent. */
  readonly maxLineBytes?: number;
  /** Called when waiting output has been written after `append` answered false. */
  readonly onDrain?: () => void;
  /** Called once, when the disk has failed. */
  readonly onLoss?: (failure: Error) => void;
}

/** Waiting bytes beyond this make `append` answer false. */
const highWater = 1024 * 1024;

/** Creates the file of a log. A log that exists is somebody's: rejects with `log-taken`. */
export async function openStepLog(log: StepLog, options: StepLogOptions): Promise<StepLogWriter> {
  const handle = await open(log.path, "ax", 0o600).catch((thrown: unknown) => {
    const problem = `log of step ${log.stepId}: cannot create ${log.path}: ${messageOf(thrown)}`;
    if (codeOf(thrown) !== "EEXIST") throw resultsError("results-lost", problem, { cause: thrown });
    throw resultsError("log-taken", `log of step ${log.stepId}: ${log.path} has a writer already`, { cause: thrown });
  });
  return new StepLogWriter(log, handle, options);
}

/**
 * Writes the log of one step: bytes in, lines out, one write under way, everything that gathered meanwhile in the next. Readers are told
 * of lines when the write has returned. A disk that fails ends the log, not the step: what comes later is dropped, and what is
 * in the file are whole lines. Flushed to the disk at `close`, never before. Nothing here rejects for what the disk does.
 */
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

  /**
   * Takes a chunk; the caller must not write to it again. `time` is the runtime's own, in RFC 3339; lines that begin in this chunk have
   * it, else the present. False asks the caller to wait for `onDrain`. After a failure, or the end, chunks are dropped.
   */
  append(stream: OutputStream, chunk: Buffer, time?: string): boolean {
    if (this.#log.failure !== undefined || this.#closing !== undefined) return true;
    const shown = this.#maskers === undefined ? chunk : this.#maskers[stream].take(chunk);
    this.#put(this.#cutters[stream].take(shown, time === undefined ? this.#now() : Buffer.from(`${time} `, "latin1")));
    this.#full = this.#waitingBytes > highWater;
    return !this.#full;
  }

  /** Resolves when waiting output has been written after `append` answered false, at once when nothing waits. */
  drained(): Promise<void> {
    if (!this.#full) return Promise.resolve();
    this.#paused ??= deferred();
    return this.#paused.promise;
  }

  /** Resolves when all of it can be read, or was lost, and is on the disk. Further calls wait for the first. */
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
    // Without a line there is nothing that must outlast a power cut: a log that is missing is read as an empty one.
    if (this.#log.bytes > 0) await this.#handle.datasync().catch((thrown: unknown) => this.#fail(thrown));
    await this.#handle.close().catch((thrown: unknown) => this.#fail(thrown));
    this.#log.end();
  }

  /** Chunks come faster than the clock ticks. */
  #now(): Buffer {
    const at = this.#options.clock.now();
    if (at !== this.#stampedAt) [this.#stampedAt, this.#stamp] = [at, timeOf(at)];
    return this.#stamp;
  }

  /** What was held when the disk failed must not be written after it, should there be room again. */
  #put(page: LinePage): void {
    if (page.lines === 0 || this.#log.failure !== undefined) return;
    this.#waiting.push(page);
    this.#waitingBytes += page.bytes().length;
    this.#writing ??= this.#writeAll();
  }

  /** One write at a time, of all that waits: a busy step costs few large writes, a quiet one a write for each line. */
  async #writeAll(): Promise<void> {
    // What comes in the same turn is written at once.
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

  /** Everything that waits, for one write. There is room for more from now on. */
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

  /** Pages begin where chunks did, which is where the index has its entries. */
  #publish(pages: readonly LinePage[]): void {
    let [id, offset] = [this.#log.lines + 1, this.#log.bytes];
    for (const page of pages) {
      this.#log.index.note({ id, offset });
      id += page.lines;
      offset += page.bytes().length;
    }
    this.#log.publish(offset - this.#log.bytes, id - 1 - this.#log.lines);
  }

  /**
   * The part of a write that found room goes again: the file has whole lines, those that readers were told of. What has gathered until the
   * failure is known is dropped after it, so that nobody waits for it to be written.
   */
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
