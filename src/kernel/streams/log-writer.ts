import { type FileHandle, open } from "node:fs/promises";
import { type Cancel, type Clock, type Instant, type Millis, toError } from "#lib/base/index.ts";
import { LineStamper, type Stamped } from "./line-stamper.ts";
import { encodeEntry, recordsPerEntry } from "./line-index.ts";
import { defaultRotation, indexOf, type Rotation } from "./log-files.ts";
import { bytesBefore, lossMark } from "./loss-mark.ts";
import { Masker } from "./masker.ts";
import { orClosed, openLogFile } from "./open-file.ts";
import { linesUpTo } from "./numbered-lines.ts";
import type { LogStream } from "./record.ts";
import { makeRoom, writeWhole } from "./rotate.ts";

// Output goes from the pipe through masker and stamper into #waiting. While a write is in progress everything gathers
// there and becomes the next write, so that a busy process costs few large writes.

export interface LogWriterOptions {
  /** Stamps records, and times unfinished lines. */
  readonly clock: Clock;
  /** Default: 10 MiB x 5. */
  readonly rotation?: Rotation;
  /** Values replaced by `***`; see Masker. */
  readonly masked?: readonly string[];
  /** Called when waiting output has been written after `append` returned false. */
  readonly onDrain?: () => void;
}

/** Above so many waiting bytes `append` returns false. Memory is then bounded by twice this and two chunks. */
const highWater = 1024 * 1024;

/** An unfinished line (a prompt, a progress bar) becomes readable after this. */
const holdMs: Millis = 250;

/**
 * Appends the output of one process to its log, with one write at a time. Files appear with the first output; an
 * existing file is continued. A failing disk ends the log, not the process: later output is dropped and `failure` says
 * why. Logs are not flushed to disk. One writer per path at a time; records have the order of `append`. Nothing here
 * rejects or throws because of the disk.
 */
export class LogWriter {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #rotation: Rotation;
  readonly #onDrain: () => void;
  readonly #stampers: Readonly<Record<LogStream, LineStamper>>;
  readonly #maskers: Readonly<Record<LogStream, Masker>> | undefined;
  #handle: FileHandle | undefined;
  #index: FileHandle | undefined;
  #waiting: Stamped[] = [];
  #waitingBytes = 0;
  #full = false;
  /** There is never a second one, which keeps records in order. */
  #writing: Promise<void> | undefined;
  /** Of the present file: its bytes, its records by this writer, and how many of those are indexed. */
  #size = 0;
  #records = 0;
  #indexed = 0;
  /** Of the whole log. */
  #lines = 0;
  /** Bytes of the files before the present one; counted if losses are marked. */
  #before = 0;
  #cancelFlush: Cancel | undefined;
  #failure: Error | undefined;

  constructor(path: string, options: LogWriterOptions) {
    this.#path = path;
    this.#clock = options.clock;
    this.#rotation = options.rotation ?? defaultRotation;
    this.#onDrain = options.onDrain ?? (() => undefined);
    this.#stampers = { stdout: new LineStamper("stdout"), stderr: new LineStamper("stderr") };
    const { masked = [] } = options;
    this.#maskers = masked.length === 0 ? undefined : { stdout: new Masker(masked), stderr: new Masker(masked) };
  }

  /** Why output was lost. Final: a log with a hole would look complete. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /**
   * Takes a chunk, which the caller must not change. False asks the caller to wait for `onDrain`; later chunks are kept
   * all the same. After a failure chunks are dropped and the result is true, so that a full disk does not block the
   * process.
   */
  append(stream: LogStream, chunk: Buffer): boolean {
    if (this.#failure !== undefined) return true;
    const shown = this.#maskers === undefined ? chunk : this.#maskers[stream].take(chunk);
    this.#put(this.#stampers[stream].stamp(shown, this.#clock.now()));
    if (this.#stampers[stream].holds) this.#flushLater();
    this.#full = this.#waitingBytes > highWater;
    return !this.#full;
  }

  /** Resolves when the records made so far can be read, or were lost. */
  async flushed(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** Resolves when all appended text is readable, unfinished lines too. Never rejects; see `failure`. Last call. */
  async close(): Promise<void> {
    this.#cancelFlush?.();
    for (const stream of ["stdout", "stderr"] as const) {
      if (this.#maskers !== undefined)
        this.#put(this.#stampers[stream].stamp(this.#maskers[stream].end(), this.#clock.now()));
    }
    this.#flushHeld();
    await this.flushed();
    await Promise.allSettled([this.#handle?.close(), this.#index?.close()]);
  }

  #flushLater(): void {
    this.#cancelFlush ??= this.#clock.after(holdMs, () => {
      this.#cancelFlush = undefined;
      this.#flushHeld();
    });
  }

  #flushHeld(): void {
    const now = this.#clock.now();
    this.#put(this.#stampers.stdout.flush(now));
    this.#put(this.#stampers.stderr.flush(now));
  }

  #put(stamped: Stamped): void {
    // A line that was held when the disk failed must not be written later.
    if (stamped.records === 0 || this.#failure !== undefined) return;
    this.#waiting.push(stamped);
    this.#waitingBytes += stamped.bytes.length;
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#waiting.length > 0) await this.#writeBatch(this.#takeWaiting(this.#rotation.maxBytes - this.#size));
    } catch (thrown) {
      this.#failure = toError(thrown);
      this.#takeWaiting();
    } finally {
      this.#writing = undefined;
      this.#drained();
    }
  }

  /** At most the room in the file, so that files are full when they are closed; but at least one part. */
  #takeWaiting(room = Number.POSITIVE_INFINITY): readonly Stamped[] {
    let taken = 0;
    let bytes = 0;
    for (const part of this.#waiting) {
      if (taken > 0 && bytes + part.bytes.length > room) break;
      bytes += part.bytes.length;
      taken++;
    }
    const batch = this.#waiting.splice(0, taken);
    this.#waitingBytes -= bytes;
    if (this.#waiting.length === 0) this.#drained();
    return batch;
  }

  #drained(): void {
    if (!this.#full) return;
    this.#full = false;
    this.#onDrain();
  }

  async #writeBatch(batch: readonly Stamped[]): Promise<void> {
    const length = batch.reduce((sum, part) => sum + part.bytes.length, 0);
    const at = batch[0]?.at ?? this.#clock.now();
    if (this.#handle !== undefined && this.#size > 0 && this.#size + length > this.#rotation.maxBytes)
      await this.#rotate(at);
    const handle = (this.#handle ??= await this.#open());
    if (this.#records - this.#indexed >= recordsPerEntry) await this.#addIndexEntry(at);
    await writeWhole(
      handle,
      batch.map((part) => part.bytes),
    );
    this.#size += length;
    for (const part of batch) {
      this.#records += part.records;
      this.#lines += part.lines;
    }
  }

  async #open(): Promise<FileHandle> {
    const handle = await openLogFile(this.#path);
    this.#size = (await orClosed(handle, () => handle.stat())).size;
    // The file of an earlier writer.
    if (this.#size > 0) this.#lines = await orClosed(handle, () => linesUpTo({ path: this.#path, size: this.#size }));
    if (this.#rotation.marksLoss === true && this.#size > 0)
      this.#before = await orClosed(handle, () => bytesBefore(handle));
    return handle;
  }

  /** Written before its batch: readers skip an entry beyond the file's size. */
  async #addIndexEntry(at: Instant): Promise<void> {
    const index = (this.#index ??= await open(indexOf(this.#path), "a", 0o640));
    await index.write(encodeEntry({ line: this.#lines, offset: this.#size, at }));
    this.#indexed = this.#records;
  }

  async #rotate(at: Instant): Promise<void> {
    await Promise.all([this.#handle?.close(), this.#index?.close()]);
    this.#handle = undefined;
    this.#index = undefined;
    this.#records = 0;
    this.#indexed = 0;
    const before = this.#before + this.#size;
    await makeRoom(this.#path, this.#rotation);
    this.#handle = await this.#open();
    await this.#addIndexEntry(at);
    if (this.#rotation.marksLoss === true) await this.#markLoss(this.#handle, before, at);
  }

  async #markLoss(handle: FileHandle, before: number, at: Instant): Promise<void> {
    const mark = lossMark(before, at);
    await writeWhole(handle, [mark]);
    this.#before = before;
    this.#size = mark.length;
    this.#records = 1;
  }
}
