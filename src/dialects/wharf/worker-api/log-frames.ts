import { isUtf8 } from "node:buffer";
import { FrameWriter, frameHeaderBytes } from "#kernel/rpc/index.ts";
import { type LogBatch, type LogTime, parseLogTime } from "../results/log-line.ts";

// Lines of a log to frames of gRPC without a string in between: what the file has is what is sent, and only the text of the time is
// read. StreamLogsResponse and LogsResponse are the same bytes.

/** Which lines are wanted. Those without a time that can be read are always. */
export interface TimeSpan {
  /** At this moment or later. */
  readonly since?: LogTime | undefined;
  /** Earlier than this moment. */
  readonly before?: LogTime | undefined;
}

/** No message is longer, whatever becomes of it when it is made UTF-8. */
const longestMessage = 1_150_000;
/** What is around the message of a line at most: header, two numbers of ten bytes, time, length. */
const besideMessage = frameHeaderBytes + 2 * 11 + 2 + 11 + 6 + 6;
const [space, lineFeed] = [32, 10];
const [shortestTime, longestTime] = [20, 35];

/** The frames of a batch; empty when none of its lines is wanted. */
export function encodeLogFrames({ stepId, firstId, lines, bytes }: LogBatch, span: TimeSpan = {}): Buffer {
  // Bytes that are no UTF-8 become three each.
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

/** Where a message ends that must not be too long, not in the middle of a character. */
function cut(bytes: Buffer, start: number, end: number): number {
  if (end - start <= longestMessage) return end;
  let at = start + longestMessage;
  while (((bytes[at] ?? 0) & 0xc0) === 0x80) at--;
  return at;
}

/** Strings of protobuf are UTF-8, or clients refuse the message. */
const textOf = (bytes: Buffer): Buffer => (isUtf8(bytes) ? bytes : Buffer.from(bytes.toString("utf8")));

/** Reads the times of lines. Lines that follow each other have mostly the same: it is compared, not read. */
class TimeReader {
  time: LogTime | undefined;
  /** As protobuf's Timestamp. */
  encoded: Buffer = Buffer.alloc(0);
  readonly #bytes: Buffer;
  /** The text that `time` was read from, with the space after it. */
  #known: Buffer = Buffer.alloc(0);
  #knownTime: LogTime | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Where the message begins; the time is in `time` then. */
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

/** google.protobuf.Timestamp. Moments before 1970 are ten bytes long, as negative numbers are. */
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

/** Negative when the first is earlier. */
export const compareTimes = (a: LogTime, b: LogTime): number => a.seconds - b.seconds || a.nanos - b.nanos;
