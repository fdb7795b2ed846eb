import type { FileHandle } from "node:fs/promises";
import { countLines, type LogBatch } from "./log-line.ts";
import type { StepLog } from "./step-log.ts";

const lineFeed = 10;
/** Longer lines, which only foreign logs have, are cut. */
const longestRecord = 1024 * 1024 + 64;

/** A reader's position in a step's log; reads up to what the writer has published. Must be closed. */
export class LogCursor {
  readonly #log: StepLog;
  readonly #firstId: number;
  readonly #limit: number;
  #offset: number;
  #nextId: number;
  #handle: FileHandle | undefined;

  /** `after`: the line before the first one. `limit`: bytes to read at most. */
  constructor(log: StepLog, after = 0, limit = Number.POSITIVE_INFINITY) {
    this.#log = log;
    this.#firstId = after + 1;
    this.#limit = limit;
    ({ id: this.#nextId, offset: this.#offset } = log.index.before(this.#firstId));
  }

  /** About `maxBytes` of whole lines, at least one; undefined if there are none now. */
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

  /** Reading again reopens the file. */
  async close(): Promise<void> {
    if (this.#handle === undefined) return;
    this.#handle = undefined;
    await this.#log.release();
  }

  /** Undefined if the file was truncated. */
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

function from(bytes: Buffer, firstId: number, lines: number, wanted: number): Omit<LogBatch, "stepId"> {
  let start = 0;
  let id = firstId;
  for (; id < wanted; id++) start = bytes.indexOf(lineFeed, start) + 1;
  return { firstId: id, lines: lines - (id - firstId), bytes: bytes.subarray(start) };
}
