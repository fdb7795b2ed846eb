import { type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Cancel, type Clock, type Logger, type Millis, toError } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";

/** Lines wait here at most, so that a crash loses no more than a second of them. */
const flushEveryMs: Millis = 1000;
/** Bytes that wait before lines are dropped: a disk that stands still must not stop requests, nor fill the memory. */
const maxWaitingBytes = 8 * 2 ** 20;
const defaultFileBytes = 16 * 2 ** 20;
const defaultFiles = 10;

export interface AuditLogOptions {
  /** `<data>/audit`; made when absent, for its owner only. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** A file that has this size is followed by another; 16 MiB unless told. */
  readonly maxFileBytes?: number;
  /** Files kept, the present one among them; 10 unless told. */
  readonly maxFiles?: number;
}

/**
 * What was asked of the server, as JSON lines in `audit.jsonl`; older ones are `audit-1.jsonl` (the youngest) and so on. Appending
 * never waits: lines are written and flushed to the disk together, at least once a second. What cannot be written is counted.
 */
export class AuditLog {
  readonly #options: Required<AuditLogOptions>;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #file: FileHandle | undefined;
  #fileBytes = 0;
  #timer: Cancel | undefined;
  #writing: Promise<void> = Promise.resolve();
  #dropped = 0;

  constructor(options: AuditLogOptions) {
    this.#options = { maxFileBytes: defaultFileBytes, maxFiles: defaultFiles, ...options };
  }

  /** Lines that were not written: too many were waiting, or the disk refused them. */
  get dropped(): number {
    return this.#dropped;
  }

  /** `line` is one JSON text. Constant time. */
  append(line: string): void {
    const bytes = line.length + 1;
    if (this.#waitingBytes + bytes > maxWaitingBytes) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += bytes;
    this.#timer ??= this.#options.clock.after(flushEveryMs, () => {
      this.#timer = undefined;
      void this.flush();
    });
  }

  /** Resolves when all that was appended before is on the disk, or was counted as dropped. Never rejects. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeWaiting());
    return this.#writing;
  }

  /** Writes what waits and lets go of the file. Nothing may be appended afterwards. */
  async close(): Promise<void> {
    this.#timer?.();
    await this.flush();
    await this.#file?.close();
    this.#file = undefined;
  }

  async #writeWaiting(): Promise<void> {
    const lines = this.#waiting;
    if (lines.length === 0) return;
    this.#waiting = [];
    this.#waitingBytes = 0;
    try {
      const bytes = Buffer.from(`${lines.join("\n")}\n`);
      const file = await this.#fileFor(bytes.length);
      // Whole, where `write` may stop at what there is room for.
      await file.appendFile(bytes);
      await file.datasync();
      this.#fileBytes += bytes.length;
    } catch (thrown) {
      this.#dropped += lines.length;
      this.#options.log.error("audit log cannot be written", { lines: lines.length, error: toError(thrown) });
      // Opened anew next time: the directory may be back by then.
      await this.#file?.close().catch(() => undefined);
      this.#file = undefined;
    }
  }

  async #fileFor(bytes: number): Promise<FileHandle> {
    const { directory, maxFileBytes } = this.#options;
    if (this.#file !== undefined && this.#fileBytes + bytes > maxFileBytes) {
      await this.#file.close();
      this.#file = undefined;
      await this.#rotate();
    }
    if (this.#file === undefined) {
      await makeDirectories(directory, 0o700);
      this.#file = await open(join(directory, "audit.jsonl"), "a", 0o600);
      this.#fileBytes = (await this.#file.stat()).size;
    }
    return this.#file;
  }

  /** The present file becomes number 1, number 1 number 2, and the last one goes. */
  async #rotate(): Promise<void> {
    const { directory, maxFiles } = this.#options;
    const numbers = (await readdir(directory))
      .flatMap((name) => /^audit-(\d+)\.jsonl$/.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => b - a);
    for (const number of numbers) {
      const old = join(directory, `audit-${number}.jsonl`);
      if (number >= maxFiles - 1) await rm(old);
      else await rename(old, join(directory, `audit-${number + 1}.jsonl`));
    }
    const present = join(directory, "audit.jsonl");
    if (maxFiles <= 1) await rm(present);
    else await rename(present, join(directory, "audit-1.jsonl"));
  }
}
