// A log of a container has no positions, only a time before each line. Where a reading is to go on is known by those times alone. Pure.

const lineFeed = 0x0a;
const space = 0x20;
/** `2026-11-21T11:39:20.022015903Z`; nodes write it in their own zone. */
const timeForm = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
const longestTime = 36;

/** A piece of a line, or all of it with its LF. `time` is that of the line; undefined where the server told none. */
export interface LogPiece {
  readonly bytes: Buffer;
  readonly time: string | undefined;
}

/**
 * What was read of a log over connections that break, and what of the next reading is new. Lines may come from two streams and be a little out of
 * their order; a log that was rotated begins later. So the lines of the last two seconds are remembered, each by its time and the number of those
 * with the same: what a reading repeats of them is left out, and everything before them too. A line that was cut off goes on where it was.
 */
export class LogPlace {
  /** Lines by their time, of each of the last two seconds. */
  readonly #seconds = new Map<number, Map<string, number>>();
  #newest = Number.NEGATIVE_INFINITY;
  /** The line that was cut off: its time, and how much of it was given. */
  #open: { readonly time: string | undefined; bytes: number } | undefined;
  #lastPrefix = "";
  #lastSecond = 0;

  /** From when on the next reading has to be; undefined: everything. */
  get since(): string | undefined {
    return Number.isFinite(this.#newest)
      ? `${new Date((this.#newest - 1) * 1000).toISOString().slice(0, 19)}Z`
      : undefined;
  }

  /** A reading from `since`, or from the beginning. There is one at a time. */
  begin(): LogReading {
    const known = new Map([...this.#seconds].map(([second, lines]) => [second, new Map(lines)] as const));
    const [oldest, cut] = [this.#newest - 1, this.#open];
    return new LogReading({
      isKnown: (time) => {
        if (time === undefined) return false;
        const second = this.#secondOf(time);
        if (second < oldest) return true;
        const left = known.get(second)?.get(time) ?? 0;
        if (left > 0) known.get(second)?.set(time, left - 1);
        return left > 0;
      },
      given: (time) => (cut !== undefined && cut === this.#open && cut.time === time ? cut.bytes : undefined),
      opened: (time, bytes) => (this.#open = { time, bytes }),
      grown: (bytes) => {
        if (this.#open !== undefined) this.#open.bytes += bytes;
      },
      ended: (time) => this.#note(time),
      hasOpen: () => this.#open !== undefined,
    });
  }

  #note(time: string | undefined): void {
    this.#open = undefined;
    if (time === undefined) return;
    const second = this.#secondOf(time);
    if (second < this.#newest - 1) return;
    if (second > this.#newest) {
      this.#newest = second;
      for (const old of this.#seconds.keys()) if (old < second - 1) this.#seconds.delete(old);
    }
    const lines = this.#seconds.get(second) ?? new Map<string, number>();
    this.#seconds.set(second, lines);
    lines.set(time, (lines.get(time) ?? 0) + 1);
  }

  /** Lines of one second come together. */
  #secondOf(time: string): number {
    const [, whole = "", zone = ""] = timeForm.exec(time) ?? [];
    const prefix = whole + zone;
    if (prefix !== this.#lastPrefix) [this.#lastPrefix, this.#lastSecond] = [prefix, Date.parse(prefix) / 1000];
    return this.#lastSecond;
  }
}

/** What a reading tells its place, and asks it. */
interface Bookkeeping {
  isKnown(time: string | undefined): boolean;
  /** How much of the line that was cut off was given, if this is the one. */
  given(time: string | undefined): number | undefined;
  opened(time: string | undefined, bytes: number): void;
  grown(bytes: number): void;
  ended(time: string | undefined): void;
  hasOpen(): boolean;
}

/** Cuts one stream of bytes into lines, and leaves out what is known. Holds no more of a line than its time. */
class LogReading {
  readonly #book: Bookkeeping;
  /** The beginning of a line whose time is not whole yet. */
  #head: Buffer = Buffer.alloc(0);
  #line: { readonly time: string | undefined; readonly isKnown: boolean; skip: number } | undefined;

  constructor(book: Bookkeeping) {
    this.#book = book;
  }

  /** What of a chunk is new. */
  *take(chunk: Buffer): Generator<LogPiece, void> {
    let rest = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
    this.#head = Buffer.alloc(0);
    while (rest.length > 0) {
      if (this.#line === undefined) {
        const begun = cutTime(rest);
        if (begun === undefined) {
          this.#head = Buffer.from(rest);
          return;
        }
        yield* this.#begin(begun.time);
        rest = begun.rest;
      }
      const end = rest.indexOf(lineFeed);
      const part = end < 0 ? rest : rest.subarray(0, end + 1);
      rest = rest.subarray(part.length);
      yield* this.#give(part, end >= 0);
    }
  }

  *#begin(time: string | undefined): Generator<LogPiece, void> {
    const isKnown = this.#book.isKnown(time);
    const given = isKnown ? undefined : this.#book.given(time);
    if (!isKnown && given === undefined) {
      // What was cut off and does not come again ends as it is.
      if (this.#book.hasOpen()) yield { bytes: Buffer.from("\n"), time: undefined };
      this.#book.opened(time, 0);
    }
    this.#line = { time, isKnown, skip: given ?? 0 };
  }

  *#give(part: Buffer, isEnd: boolean): Generator<LogPiece, void> {
    const line = this.#line;
    if (line === undefined) return;
    const fresh = part.subarray(Math.min(line.skip, part.length));
    line.skip -= part.length - fresh.length;
    if (!line.isKnown && fresh.length > 0) {
      this.#book.grown(fresh.length);
      yield { bytes: fresh, time: line.time };
    }
    if (!isEnd) return;
    if (!line.isKnown) this.#book.ended(line.time);
    this.#line = undefined;
  }
}

/** The time at the beginning of a line and what is behind it; undefined while it cannot be known yet. */
function cutTime(bytes: Buffer): { readonly time: string | undefined; readonly rest: Buffer } | undefined {
  const head = bytes.subarray(0, longestTime);
  const end = head.indexOf(space);
  if (end < 0 && bytes.length < longestTime && !head.includes(lineFeed)) return undefined;
  const time = head.toString("latin1", 0, Math.max(0, end));
  return timeForm.test(time) ? { time, rest: bytes.subarray(end + 1) } : { time: undefined, rest: bytes };
}
