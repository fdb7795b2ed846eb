import { crc32 } from "node:zlib";
import type { LogTime } from "../results/log-line.ts";

// A record of a segment, numbers with their lowest byte first:
//
//     0  4  length of the message in bytes
//     4  4  CRC-32 of everything from byte 8 to the end
//     8  8  logId, from 1, ascending within a segment
//    16  8  workerLogId; 0: a line that has none
//    24  8  seconds of its time since 1970, signed
//    32  4  nanoseconds of that second
//    36     message, UTF-8
//
// 64 bits of nanoseconds would end in 2262, and clients without a time send year 1.

export const headerBytes = 36;
/** Workers cut messages at 1 MiB, which U+FFFD may triple. */
export const longestMessage = 4 * 1024 * 1024;

export interface StoredLine {
  readonly logId: number;
  readonly stepId: number;
  /** 0 if the line has no number. */
  readonly workerLogId: number;
  readonly time: LogTime;
  readonly message: string;
}

export interface NewLine extends Omit<StoredLine, "logId" | "message"> {
  readonly message: string | Uint8Array;
}

export class RecordPage {
  #bytes = Buffer.allocUnsafe(4096);
  /** DataView writes numbers much faster than Buffer. */
  #view = viewOf(this.#bytes);
  #length = 0;

  add(logId: number, { workerLogId, time, message }: Omit<NewLine, "stepId">): number {
    const start = this.#length;
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
    view.setUint32(start + 4, crc32(bytes.subarray(start + 8, from + length)), true);
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

export const lengthAt = (bytes: Buffer, at: number): number | undefined =>
  at + headerBytes > bytes.length ? undefined : headerBytes + bytes.readUInt32LE(at);

export const logIdAt = (bytes: Buffer, at: number): number => readInteger(bytes, at + 8);

export const workerLogIdAt = (bytes: Buffer, at: number): number => readInteger(bytes, at + 16);

export function isRecordAt(bytes: Buffer, at: number): boolean {
  const length = lengthAt(bytes, at);
  if (length === undefined || length > headerBytes + longestMessage || at + length > bytes.length) return false;
  return bytes.readUInt32LE(at + 4) === crc32(bytes.subarray(at + 8, at + length));
}

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

function writeInteger(view: DataView, value: number, at: number): void {
  view.setUint32(at, value >>> 0, true);
  view.setInt32(at + 4, Math.floor(value / word), true);
}

const readInteger = (bytes: Buffer, at: number): number => bytes.readInt32LE(at + 4) * word + bytes.readUInt32LE(at);
