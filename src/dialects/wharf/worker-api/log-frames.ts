import { isUtf8 } from "node:buffer";
import { FrameWriter, frameHeaderBytes } from "#kernel/rpc/index.ts";
import { type LogBatch, type LogTime, parseLogTime } from "../results/log-line.ts";

// Encodes log lines as gRPC frames without strings in between. StreamLogsResponse and LogsResponse are the same
// bytes.

export interface TimeSpan {
  readonly since?: LogTime | undefined;
  readonly before?: LogTime | undefined;
}

/** Longer messages are cut. */
const longestMessage = 1_150_000;
/** Maximum bytes around a message: header, two numbers, time and length. */
const besideMessage = frameHeaderBytes + 2 * 11 + 2 + 11 + 6 + 6;
const [space, lineFeed] = [32, 10];
const [shortestTime, longestTime] = [20, 35];

export function encodeLogFrames({ stepId, firstId, lines, bytes }: LogBatch, span: TimeSpan = {}): Buffer {
  // Invalid bytes become three bytes each.
  const isText = isUtf8(bytes);
  const writer = new FrameWriter((isText ? 1 : 3) * bytes.length + (lines + 1) * besideMessage);
  const clock = new TimeReader(bytes);
  let id = firstId;
  for (let from = 0; from < bytes.length; id++) {
    const found = bytes.indexOf(lineFeed, from);
    const end = found < 0 ? bytes.length : found;
    const start = clock.read(from, end);
    if (clock.time === undefined || isWithin(clock.time, span)) {
      writer.begin();
      writer.uint(1, id);
      writer.uint(2, stepId);
      if (clock.time !== undefined) writer.bytes(3, clock.encoded);
      if (isText) writer.bytes(4, bytes, start, cut(bytes, start, end));
      else {
        const text = textOf(bytes.subarray(start, end));
        writer.bytes(4, text, 0, cut(text, 0, text.length));
      }
      writer.end();
    }
    from = end + 1;
  }
  return writer.written();
}

function cut(bytes: Buffer, start: number, end: number): number {
  if (end - start <= longestMessage) return end;
  let at = start + longestMessage;
  while (((bytes[at] ?? 0) & 0xc0) === 0x80) at--;
  return at;
}

/** Protobuf strings must be UTF-8. */
const textOf = (bytes: Buffer): Buffer => (isUtf8(bytes) ? bytes : Buffer.from(bytes.toString("utf8")));

/** Consecutive lines mostly have the same time, which is compared instead of parsed. */
class TimeReader {
  time: LogTime | undefined;
  encoded: Buffer = Buffer.alloc(0);
  readonly #bytes: Buffer;
  #known: Buffer = Buffer.alloc(0);
  #knownTime: LogTime | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  read(from: number, end: number): number {
    const known = this.#known;
    const { length } = known;
    this.time = this.#knownTime;
    if (length > 0 && from + length <= end && this.#bytes.compare(known, 0, length, from, from + length) === 0)
      return from + length;
    this.time = undefined;
    const gap = this.#bytes.indexOf(space, from);
    if (gap < 0 || gap >= end || gap - from < shortestTime || gap - from > longestTime) return from;
    const time = parseLogTime(this.#bytes.toString("latin1", from, gap));
    if (time === undefined) return from;
    this.#known = this.#bytes.subarray(from, gap + 1);
    this.#knownTime = time;
    this.time = time;
    this.encoded = encodeTime(time);
    return gap + 1;
  }
}

/** google.protobuf.Timestamp; negative numbers take ten bytes. */
function encodeTime({ seconds, nanos }: LogTime): Buffer {
  const bytes: number[] = [];
  const varint = (field: number, value: number): void => {
    if (value === 0) return;
    bytes.push(field << 3);
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    bytes.push(Number(rest));
  };
  varint(1, seconds);
  varint(2, nanos);
  return Buffer.from(bytes);
}

const isWithin = (time: LogTime, { since, before }: TimeSpan): boolean =>
  (since === undefined || compareTimes(time, since) >= 0) && (before === undefined || compareTimes(time, before) < 0);

export const compareTimes = (a: LogTime, b: LogTime): number => a.seconds - b.seconds || a.nanos - b.nanos;
