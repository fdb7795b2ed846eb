import { type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Cancel, type Clock, type Logger, type Millis, toError } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";

/** A crash loses at most this much. */
const flushEveryMs: Millis = 1000;
/** Beyond this lines are dropped: a blocked disk must not stop requests or fill the memory. */
const maxWaitingBytes = 8 * 2 ** 20;
const defaultFileBytes = 16 * 2 ** 20;
const defaultFiles = 10;

export interface AuditLogOptions {
  /** `<data>/audit`, created with mode 0700. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** 16 MiB by default. */
  readonly maxFileBytes?: number;
  /** Including the current file; 10 by default. */
  readonly maxFiles?: number;
}

/** Records requests in `audit.jsonl`, `audit-1.jsonl` (youngest)… Appending never waits; lost lines are counted. */
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

  get dropped(): number {
    return this.#dropped;
  }

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

  /** Resolves when all earlier lines are on disk or counted as dropped. Never rejects. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeWaiting());
    return this.#writing;
  }

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
      // Unlike `write` it never stops half-way.
      await file.appendFile(bytes);
      await file.datasync();
      this.#fileBytes += bytes.length;
    } catch (thrown) {
      this.#dropped += lines.length;
      this.#options.log.error("audit log cannot be written", { lines: lines.length, error: toError(thrown) });
      // Reopened next time: the directory may be back.
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

  /** `audit-1.jsonl` is the youngest; removes the oldest. */
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
