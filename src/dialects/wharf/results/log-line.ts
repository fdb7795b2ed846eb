import { type Instant, formatInstant, parseInstant } from "#lib/base/index.ts";

// A line of output.log: RFC 3339 time with up to nine digits of fraction and any zone, one space, the message, LF.

/** A moment to the nanosecond, in integers: a double cannot hold it. */
export interface LogTime {
  readonly seconds: number;
  readonly nanos: number;
}

export interface LogLine {
  /** Its number in the log of the step, from 1. */
  readonly id: number;
  /** Absent where the line has none that can be read; the message is then the whole line. */
  readonly time: LogTime | undefined;
  /** What is no UTF-8 is shown as U+FFFD. */
  readonly message: string;
}

/** Whole lines of one step that follow each other. The last one of a foreign log may lack its end. */
export interface LogBatch {
  readonly stepId: number;
  /** Of the first line. */
  readonly firstId: number;
  readonly lines: number;
  readonly bytes: Buffer;
}

/** The longest time is `2026-01-31T12:00:00.123456789+01:00`. */
const longestTime = 35;
const shortestTime = 20;
const space = 32;
const lineFeed = 10;

/** What stands before a message that is written at this moment. */
export const timeOf = (at: Instant): Buffer => Buffer.from(`${formatInstant(at)} `, "latin1");

const pattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** The moment that a text names, or undefined. */
export function parseLogTime(text: string): LogTime | undefined {
  const [, second, fraction = "", zone] = pattern.exec(text) ?? [];
  if (second === undefined) return undefined;
  const at = parseInstant(`${second}${zone}`);
  return at === undefined ? undefined : { seconds: at / 1000, nanos: Number(fraction.padEnd(9, "0")) };
}

/** The lines of a batch, one after the other. Lines of one time are cheap: it is read once. */
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

/** How many lines end in these bytes. */
export function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) count++;
  return count;
}
