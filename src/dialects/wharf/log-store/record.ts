import type { LogTime } from "../results/log-line.ts";
import { crc32c } from "./crc32c.ts";

// A record of a segment, numbers with their lowest byte first:
//
//     0  4  length of the message in bytes
//     4  4  CRC-32C of everything from byte 8 to the end
//     8  8  logId, from 1, ascending within a segment
//    16  8  workerLogId; 0: a line that has none
//    24  8  seconds of its time since 1970, signed
//    32  4  nanoseconds of that second
//    36     message, UTF-8
//
// Seconds and nanoseconds instead of 64 bits of nanoseconds: those end in 2262 and begin in 1677, and clients that know no time say year 1.

export const headerBytes = 36;
/** Of one message. What is longer is nobody's line: workers cut at 1 MiB, which U+FFFD may make three times as long. */
export const longestMessage = 4 * 1024 * 1024;

/** A line as it was received. */
export interface StoredLine {
  /** Its number in the build, in order of arrival. */
  readonly logId: number;
  readonly stepId: number;
  /** Its number in the log of its step; 0: it has none. */
  readonly workerLogId: number;
  readonly time: LogTime;
  readonly message: string;
}

/** A line that is about to be stored. */
export interface NewLine extends Omit<StoredLine, "logId" | "message"> {
  /** At most 4 MiB, as text or in UTF-8. */
  readonly message: string | Uint8Array;
}

/** Records ready for the file, one after the other, in one buffer that doubles. */
export class RecordPage {
  #bytes = Buffer.allocUnsafe(4096);
  /** Of the same memory: numbers are written for a fraction of what it costs through a buffer, which looks at each of them. */
  #view = viewOf(this.#bytes);
  #length = 0;

  /** Appends a record; answers its length. */
  add(logId: number, { workerLogId, time, message }: Omit<NewLine, "stepId">): number {
    const start = this.#length;
    // A UTF-16 unit is three bytes of UTF-8 at most.
    const most = headerBytes + (typeof message === "string" ? 3 : 1) * message.length;
    if (start + most > this.#bytes.length) this.#grow(most);
    const bytes = this.#bytes;
    const from = start + headerBytes;
    let length = message.length;
    if (typeof message === "string") length = bytes.write(message, from, "utf8");
    else bytes.set(message, from);
    const view = this.#view;
    view.setUint32(start, length, true);
    writeInteger(view, logId, start + 8);
    writeInteger(view, workerLogId, start + 16);
    writeInteger(view, time.seconds, start + 24);
    view.setUint32(start + 32, time.nanos, true);
    view.setUint32(start + 4, crc32c(bytes, start + 8, from + length), true);
    this.#length = from + length;
    return headerBytes + length;
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #grow(more: number): void {
    const wider = Buffer.allocUnsafe(2 * (this.#length + more));
    this.#bytes.copy(wider, 0, 0, this.#length);
    this.#bytes = wider;
    this.#view = viewOf(wider);
  }
}

const viewOf = ({ buffer, byteOffset, byteLength }: Buffer): DataView => new DataView(buffer, byteOffset, byteLength);

/** The length of the record that begins here, as it says itself; undefined when even that is cut off. */
export const lengthAt = (bytes: Buffer, at: number): number | undefined =>
  at + headerBytes > bytes.length ? undefined : headerBytes + bytes.readUInt32LE(at);

/** The logId of the record that begins here, unchecked. */
export const logIdAt = (bytes: Buffer, at: number): number => readInteger(bytes, at + 8);

/** The workerLogId of the record that begins here, unchecked. */
export const workerLogIdAt = (bytes: Buffer, at: number): number => readInteger(bytes, at + 16);

/** Whether a whole record begins here, unharmed. */
export function isRecordAt(bytes: Buffer, at: number): boolean {
  const length = lengthAt(bytes, at);
  if (length === undefined || length > headerBytes + longestMessage || at + length > bytes.length) return false;
  return bytes.readUInt32LE(at + 4) === crc32c(bytes, at + 8, at + length);
}

/** The record that begins here, which must be one. */
export function lineAt(bytes: Buffer, at: number, stepId: number): StoredLine {
  const end = at + (lengthAt(bytes, at) ?? 0);
  return {
    logId: logIdAt(bytes, at),
    stepId,
    workerLogId: workerLogIdAt(bytes, at),
    time: { seconds: readInteger(bytes, at + 24), nanos: bytes.readUInt32LE(at + 32) },
    message: bytes.toString("utf8", at + headerBytes, end),
  };
}

const word = 2 ** 32;

/** An integer that a double holds, in eight bytes. */
function writeInteger(view: DataView, value: number, at: number): void {
  view.setUint32(at, value >>> 0, true);
  view.setInt32(at + 4, Math.floor(value / word), true);
}

const readInteger = (bytes: Buffer, at: number): number => bytes.readInt32LE(at + 4) * word + bytes.readUInt32LE(at);
