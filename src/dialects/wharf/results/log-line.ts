import { type Instant, formatInstant, parseInstant } from "#lib/base/index.ts";

/** A time in integers, because a double cannot hold nanoseconds. */
export interface LogTime {
  readonly seconds: number;
  readonly nanos: number;
}

export interface LogLine {
  readonly id: number;
  /** Undefined if unreadable; the message is then the whole line. */
  readonly time: LogTime | undefined;
  readonly message: string;
}

/** Consecutive whole lines of a step; the last one of a foreign log may lack its LF. */
export interface LogBatch {
  readonly stepId: number;
  readonly firstId: number;
  readonly lines: number;
  readonly bytes: Buffer;
}

const longestTime = 35;
const shortestTime = 20;
const space = 32;
const lineFeed = 10;

export const timeOf = (at: Instant): Buffer => Buffer.from(`${formatInstant(at)} `, "latin1");

const pattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

export function parseLogTime(text: string): LogTime | undefined {
  const [, second, fraction = "", zone] = pattern.exec(text) ?? [];
  if (second === undefined) return undefined;
  const at = parseInstant(`${second}${zone}`);
  return at === undefined ? undefined : { seconds: at / 1000, nanos: Number(fraction.padEnd(9, "0")) };
}

/** Consecutive equal times are parsed once. */
export function* linesOf({ bytes, firstId }: LogBatch): Generator<LogLine, void> {
  let id = firstId;
  let known: { readonly text: string; readonly time: LogTime | undefined } = { text: "", time: undefined };
  for (let from = 0; from < bytes.length; id++) {
    const found = bytes.indexOf(lineFeed, from);
    const end = found < 0 ? bytes.length : found;
    const gap = bytes.indexOf(space, from);
    let start = from;
    if (gap - from >= shortestTime && gap - from <= longestTime && gap < end) {
      const text = bytes.toString("latin1", from, gap);
      if (text !== known.text) known = { text, time: parseLogTime(text) };
      if (known.time !== undefined) start = gap + 1;
    }
    yield { id, time: start > from ? known.time : undefined, message: bytes.toString("utf8", start, end) };
    from = end + 1;
  }
}

export function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) count++;
  return count;
}
