import type { FileHandle } from "node:fs/promises";
import { countLines, type LogBatch } from "./log-line.ts";
import type { StepLog } from "./step-log.ts";

const lineFeed = 10;
/** Of a longer line, which only a foreign log has, the beginning is read. A message of 1 MiB and its time. */
const longestRecord = 1024 * 1024 + 64;

/**
 * A reader's place in the log of a step. It reads up to where the writer has published and no further; the same for a log of an hour
 * ago and one that is being written, hence each line once, in order, with nothing between. Close it.
 */
export class LogCursor {
  readonly #log: StepLog;
  readonly #firstId: number;
  readonly #limit: number;
  #offset: number;
  #nextId: number;
  #handle: FileHandle | undefined;

  /** `after`: the line before the first that is wanted. `limit`: bytes of the log beyond which nothing is. */
  constructor(log: StepLog, after = 0, limit = Number.POSITIVE_INFINITY) {
    this.#log = log;
    this.#firstId = after + 1;
    this.#limit = limit;
    ({ id: this.#nextId, offset: this.#offset } = log.index.before(this.#firstId));
  }

  /** The next whole lines, about `maxBytes` of them, one at least; undefined when there are none at present. For one caller at a time. */
  async next(maxBytes: number): Promise<LogBatch | undefined> {
    for (;;) {
      const end = Math.min(this.#limit, this.#log.bytes);
      if (this.#offset >= end) {
        if (this.#log.ended || end === this.#limit) await this.close();
        return undefined;
      }
      const read = await this.#read(end, maxBytes);
      if (read === undefined) return undefined;
      const firstId = this.#nextId;
      const lines = Math.max(1, countLines(read) + (read.at(-1) === lineFeed ? 0 : 1));
      this.#log.index.note({ id: firstId, offset: this.#offset });
      this.#offset += read.length;
      this.#nextId += lines;
      if (read.length >= longestRecord && read.at(-1) !== lineFeed) await this.#skipLine(end);
      if (this.#nextId <= this.#firstId) continue;
      return { stepId: this.#log.stepId, ...from(read, firstId, lines, this.#firstId) };
    }
  }

  /** Gives the file back; a cursor that is asked again opens it again. */
  async close(): Promise<void> {
    if (this.#handle === undefined) return;
    this.#handle = undefined;
    await this.#log.release();
  }

  /**
   * From the cursor on: whole lines, or one that is too long, or the last one of a foreign log. Doubles what it reads until there is an end of
   * a line, so that lines of ordinary length cost one read for many of them.
   *
   * Undefined when the file is shorter than it was said to be: somebody has cut it off.
   */
  async #read(end: number, maxBytes: number): Promise<Buffer | undefined> {
    for (let size = Math.min(maxBytes, end - this.#offset); ; size = Math.min(2 * size, end - this.#offset)) {
      size = Math.min(size, longestRecord);
      const bytes = await this.#bytes(size);
      if (bytes.length === 0) return undefined;
      const last = bytes.lastIndexOf(lineFeed);
      if (last >= 0) return bytes.subarray(0, last + 1);
      if (size === longestRecord || bytes.length < size || this.#offset + size >= end) return bytes;
    }
  }

  async #bytes(size: number): Promise<Buffer> {
    this.#handle ??= await this.#log.acquire();
    const buffer = Buffer.allocUnsafeSlow(size);
    const { bytesRead } = await this.#handle.read(buffer, 0, size, this.#offset);
    return buffer.subarray(0, bytesRead);
  }

  /** To the beginning of the next line. */
  async #skipLine(end: number): Promise<void> {
    while (this.#offset < end) {
      const bytes = await this.#bytes(Math.min(256 * 1024, end - this.#offset));
      if (bytes.length === 0) return;
      const found = bytes.indexOf(lineFeed);
      this.#offset += found < 0 ? bytes.length : found + 1;
      if (found >= 0) return;
    }
  }
}

/** Without the lines that are not wanted. */
function from(bytes: Buffer, firstId: number, lines: number, wanted: number): Omit<LogBatch, "stepId"> {
  let start = 0;
  let id = firstId;
  for (; id < wanted; id++) start = bytes.indexOf(lineFeed, start) + 1;
  return { firstId: id, lines: lines - (id - firstId), bytes: bytes.subarray(start) };
}
