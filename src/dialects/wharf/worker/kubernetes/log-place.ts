import { getOrAdd } from "#lib/base/index.ts";
// Container logs have no positions, only timestamps; a reading resumes by these. Pure.

const lineFeed = 0x0a;
const space = 0x20;
const timeForm = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
const longestTime = 36;

/** A piece of a line, or all of it with LF; `time` is undefined if the server sent none. */
export interface LogPiece {
  readonly bytes: Buffer;
  readonly time: string | undefined;
}

/** Tracks what has been read, so that the next reading can skip it. Lines may be slightly out of order and logs may be
 * rotated, so the lines of the last two seconds are remembered by time and count. A cut line is continued. */
export class LogPlace {
  readonly #seconds = new Map<number, Map<string, number>>();
  #newest = Number.NEGATIVE_INFINITY;
  #open: { readonly time: string | undefined; bytes: number } | undefined;
  #lastPrefix = "";
  #lastSecond = 0;

  /** Where the next reading must start; undefined for the beginning. */
  get since(): string | undefined {
    return Number.isFinite(this.#newest)
      ? `${new Date((this.#newest - 1) * 1000).toISOString().slice(0, 19)}Z`
      : undefined;
  }

  /** Starts a reading from `since`; one at a time. */
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
    const lines = getOrAdd(this.#seconds, second, () => new Map<string, number>());
    lines.set(time, (lines.get(time) ?? 0) + 1);
  }

  #secondOf(time: string): number {
    const [, whole = "", zone = ""] = timeForm.exec(time) ?? [];
    const prefix = whole + zone;
    if (prefix !== this.#lastPrefix) [this.#lastPrefix, this.#lastSecond] = [prefix, Date.parse(prefix) / 1000];
    return this.#lastSecond;
  }
}

interface Bookkeeping {
  isKnown(time: string | undefined): boolean;
  /** Bytes of the cut line that were already returned, if this is the line. */
  given(time: string | undefined): number | undefined;
  opened(time: string | undefined, bytes: number): void;
  grown(bytes: number): void;
  ended(time: string | undefined): void;
  hasOpen(): boolean;
}

/** Splits a stream into lines and skips known ones. Buffers only the time of a line. */
class LogReading {
  readonly #book: Bookkeeping;
  #head: Buffer = Buffer.alloc(0);
  #line: { readonly time: string | undefined; readonly isKnown: boolean; skip: number } | undefined;

  constructor(book: Bookkeeping) {
    this.#book = book;
  }

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
      // The cut line is not repeated, so it ends here.
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

/** Undefined until the time is complete. */
function cutTime(bytes: Buffer): { readonly time: string | undefined; readonly rest: Buffer } | undefined {
  const head = bytes.subarray(0, longestTime);
  const end = head.indexOf(space);
  if (end < 0 && bytes.length < longestTime && !head.includes(lineFeed)) return undefined;
  const time = head.toString("latin1", 0, Math.max(0, end));
  return timeForm.test(time) ? { time, rest: bytes.subarray(end + 1) } : { time: undefined, rest: bytes };
}
