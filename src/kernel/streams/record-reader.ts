import type { Instant } from "#lib/base/index.ts";
import {
  flagOffset,
  fullFlag,
  type LogStream,
  newline,
  partialFlag,
  prefixLength,
  recordTime,
  streamOffset,
  timeLength,
} from "./record.ts";

export interface RecordReaderOptions {
  /** Prefix lines with times, as `pods/log?timestamps=true` does. */
  readonly timestamps?: boolean;
  /** Prefix lines with all that records say: `TIME STREAM FLAG `. */
  readonly numbered?: boolean;
  /** Drop older records. */
  readonly since?: Instant;
  readonly stream?: LogStream;
}

// Bounds memory for a file that is not a log.
const longestRecord = 256 * 1024;

/**
 * Turns the bytes of log files back into output. Lines that are not records (a damaged file) come out as they are.
 * Pieces of both streams come out in their order. A line that began before `since` shows only its later pieces. Holds
 * at most one record.
 */
export class RecordReader {
  /** Bytes of a record's prefix that lines begin with. */
  readonly #shown: number;
  readonly #since: Buffer | undefined;
  readonly #stream: LogStream | undefined;
  #carried: Buffer = empty;
  #midLine = { stdout: false, stderr: false };

  constructor(options: RecordReaderOptions = {}) {
    this.#shown = options.numbered === true ? prefixLength : options.timestamps === true ? timeLength + 1 : 0;
    this.#since = options.since === undefined ? undefined : Buffer.from(recordTime(options.since), "latin1");
    this.#stream = options.stream;
  }

  /** The output up to the last whole record. The block may be reused afterwards. */
  read(block: Buffer): Buffer {
    const bytes = this.#carried.length === 0 ? block : Buffer.concat([this.#carried, block]);
    const out = Buffer.allocUnsafe(bytes.length);
    let length = 0;
    let from = 0;
    for (;;) {
      const end = bytes.indexOf(newline, from);
      if (end < 0) break;
      length = this.#copyRecord(bytes, from, end, out, length);
      from = end + 1;
    }
    const rest = bytes.subarray(from);
    if (rest.length > longestRecord) {
      this.#carried = empty;
      return Buffer.concat([out.subarray(0, length), rest]);
    }
    // The caller may reuse the block.
    this.#carried = rest.length === 0 ? empty : Buffer.from(rest);
    return out.subarray(0, length);
  }

  /** The rest of an unfinished record. Call it at the end of a file. */
  end(): Buffer {
    const rest = this.#carried;
    this.#carried = empty;
    return rest.length > prefixLength ? rest.subarray(prefixLength) : empty;
  }

  /** `out` is always large enough: output is never longer than its record. */
  #copyRecord(bytes: Buffer, from: number, end: number, out: Buffer, length: number): number {
    const flag = bytes[from + flagOffset];
    if (end - from < prefixLength || (flag !== fullFlag && flag !== partialFlag)) {
      return length + bytes.copy(out, length, from, end + 1);
    }
    const stream = isStdout(bytes, from) ? "stdout" : "stderr";
    if (this.#stream !== undefined && stream !== this.#stream) return length;
    if (this.#since !== undefined && bytes.compare(this.#since, 0, timeLength, from, from + timeLength) < 0)
      return length;
    let at = length;
    if (this.#shown > 0 && !this.#midLine[stream]) at += bytes.copy(out, at, from, from + this.#shown);
    this.#midLine[stream] = flag === partialFlag;
    return at + bytes.copy(out, at, from + prefixLength, flag === fullFlag ? end + 1 : end);
  }
}

const empty: Buffer = Buffer.alloc(0);
const letterO = 111;

// `stdout` and `stderr` differ first in their fourth letter.
const isStdout = (bytes: Buffer, from: number): boolean => bytes[from + streamOffset + 3] === letterO;
