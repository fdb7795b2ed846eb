import { frameHeaderBytes, RpcError } from "#kernel/rpc/index.ts";
import type { LogTime } from "../results/log-line.ts";
import type { WorkerLine } from "./worker-messages.ts";

// Most readers only pass lines on, so lines stay bytes on their way to the store.

export interface LineFrames {
  readonly bytes: Buffer;
  readonly lines: number;
}

export const lineFramesType = "application/x-wharf-lines";

/** Walks over frames without decoding them. Throws INTERNAL for other bytes. */
export class LineCursor {
  stepId = 0;
  logId = 0;
  start = 0;
  end = 0;
  /** UTF-8, as its sender says. */
  textStart = 0;
  textEnd = 0;
  readonly #bytes: Buffer;
  #at = 0;
  /** Consecutive lines mostly have the same time, so the last one is reused. */
  #timeStart = 0;
  #timeEnd = 0;
  #time: LogTime = { seconds: 0, nanos: 0 };

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  next(): boolean {
    const bytes = this.#bytes;
    this.start = this.end;
    if (this.start >= bytes.length) return false;
    this.#at = this.start + frameHeaderBytes;
    this.end = this.#at + bytes.readUInt32BE(this.start + 1);
    if (this.end > bytes.length) throw broken();
    this.stepId = this.logId = this.textStart = this.textEnd = this.#timeStart = this.#timeEnd = 0;
    while (this.#at < this.end) this.#readField();
    return true;
  }

  get time(): LogTime | undefined {
    if (this.#timeStart === 0) return undefined;
    let [seconds, nanos] = [0, 0];
    this.#at = this.#timeStart;
    while (this.#at < this.#timeEnd) {
      const key = this.#varint(this.#timeEnd);
      if (key === 8) seconds = this.#signed(this.#timeEnd);
      else if (key === 16) nanos = this.#varint(this.#timeEnd);
      else this.#pass(key, this.#timeEnd);
    }
    if (seconds !== this.#time.seconds || nanos !== this.#time.nanos) this.#time = { seconds, nanos };
    return this.#time;
  }

  #readField(): void {
    const key = this.#varint(this.end);
    if (key === 8) this.logId = this.#varint(this.end);
    else if (key === 16) this.stepId = this.#varint(this.end);
    else if (key === 26) {
      this.#timeEnd = this.#lengthEnd(this.end);
      this.#timeStart = this.#at;
      this.#at = this.#timeEnd;
    } else if (key === 34) {
      this.textEnd = this.#lengthEnd(this.end);
      this.textStart = this.#at;
      this.#at = this.textEnd;
    } else this.#pass(key, this.end);
  }

  #pass(key: number, end: number): void {
    const type = key & 7;
    if (type === 0) this.#varint(end);
    else if (type === 2) this.#at = this.#lengthEnd(end);
    else if (type === 1 || type === 5) this.#at += type === 1 ? 8 : 4;
    else throw broken();
    if (this.#at > end) throw broken();
  }

  #lengthEnd(end: number): number {
    const length = this.#varint(end);
    if (length > end - this.#at) throw broken();
    return this.#at + length;
  }

  /** Negative numbers are encoded as 2^64 minus their amount. */
  #signed(end: number): number {
    const from = this.#at;
    const value = this.#varint(end);
    if (value <= Number.MAX_SAFE_INTEGER) return value;
    const digits = [...this.#bytes.subarray(from, this.#at)].map((byte) => BigInt(byte & 127));
    return Number(
      BigInt.asIntN(
        64,
        digits.reduceRight((rest, digit) => rest * 128n + digit, 0n),
      ),
    );
  }

  #varint(end: number): number {
    let value = 0;
    for (let scale = 1; this.#at < end && scale <= 2 ** 63; scale *= 128) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw broken();
  }
}

const broken = (): RpcError => new RpcError("INTERNAL", "expected lines of a log, found other bytes");

export function pickLines(
  { bytes, lines }: LineFrames,
  isWanted: (stepId: number, logId: number) => boolean,
): LineFrames {
  const cursor = new LineCursor(bytes);
  const runs: Buffer[] = [];
  let [picked, from] = [0, 0];
  while (cursor.next()) {
    if (isWanted(cursor.stepId, cursor.logId)) picked++;
    else {
      if (cursor.start > from) runs.push(bytes.subarray(from, cursor.start));
      from = cursor.end;
    }
  }
  if (picked === lines) return { bytes, lines };
  runs.push(bytes.subarray(from));
  return { bytes: Buffer.concat(runs), lines: picked };
}

/** Splits frames into parts of at most `most.lines` lines that end with the line reaching `most.bytes`. */
export function cutLines(
  frames: LineFrames,
  most: { readonly lines: number; readonly bytes: number },
): readonly LineFrames[] {
  const { bytes } = frames;
  if (frames.lines > 0 && frames.lines <= most.lines && bytes.length <= most.bytes) return [frames];
  const parts: LineFrames[] = [];
  let [from, lines] = [0, 0];
  for (let at = 0; at < bytes.length; ) {
    at += frameHeaderBytes + bytes.readUInt32BE(at + 1);
    lines++;
    if (lines < most.lines && at - from < most.bytes && at < bytes.length) continue;
    parts.push({ bytes: bytes.subarray(from, at), lines });
    [from, lines] = [at, 0];
  }
  return parts;
}

export function countedLines(bytes: Buffer): LineFrames {
  let lines = 0;
  for (let at = 0; at < bytes.length; at += frameHeaderBytes + bytes.readUInt32BE(at + 1)) lines++;
  return { bytes, lines };
}

export function readLines({ bytes }: LineFrames): readonly WorkerLine[] {
  const cursor = new LineCursor(bytes);
  const lines: WorkerLine[] = [];
  while (cursor.next()) {
    const { stepId, logId, time, textStart, textEnd } = cursor;
    lines.push({ stepId, logId, time, message: bytes.toString("utf8", textStart, textEnd) });
  }
  return lines;
}
