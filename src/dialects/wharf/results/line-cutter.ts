import { carriageReturn, HeldLine, lineFeed } from "./held-line.ts";
import { LinePage } from "./line-page.ts";

const nothing = Buffer.alloc(0);

/**
 * Output of one stream, however it is cut into chunks, as lines of a log:
 *
 * - a line ends at LF; a carriage return before it goes away;
 * - of what is overwritten with carriage returns the last remains, as a terminal would show it;
 * - more than `maxLineBytes` go on in further lines with the same time;
 * - a line has the time of the chunk in which it begins.
 *
 * Bytes, not text: what is no UTF-8 stays as it is. Linear in the bytes, and holds no more than one message.
 */
export class LineCutter {
  readonly #most: number;
  readonly #held: HeldLine;
  #heldTime: Buffer = nothing;

  constructor(maxLineBytes: number) {
    this.#most = maxLineBytes;
    this.#held = new HeldLine(maxLineBytes);
  }

  /** The lines that end in a chunk, each behind `time`. The chunk is not kept. */
  take(chunk: Buffer, time: Buffer): LinePage {
    const page = new LinePage(chunk.length);
    let from = 0;
    let nextReturn = chunk.indexOf(carriageReturn);
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      if (nextReturn >= 0 && nextReturn < from) nextReturn = chunk.indexOf(carriageReturn, from);
      if (!this.#held.isBegun && isPlain(end - from, this.#most, nextReturn, end)) page.add(time, chunk, from, end);
      else this.#finish(chunk.subarray(from, end), time, page);
      from = end + 1;
    }
    if (from < chunk.length) this.#hold(chunk.subarray(from), time, page);
    return page;
  }

  /** The last line, when its end never came. */
  end(): LinePage {
    const page = new LinePage(0);
    if (this.#held.isBegun) this.#finish(nothing, this.#heldTime, page);
    return page;
  }

  /** A line is over: what was held of it, and this. */
  #finish(rest: Buffer, time: Buffer, page: LinePage): void {
    this.#hold(rest, time, page);
    const last = this.#held.take();
    page.add(this.#heldTime.length > 0 ? this.#heldTime : time, last, 0, last.length);
    this.#heldTime = nothing;
  }

  /** Keeps the beginning of a line; pieces that are full go at once, with the time of the beginning. */
  #hold(bytes: Buffer, time: Buffer, page: LinePage): void {
    if (!this.#held.isBegun) this.#heldTime = time;
    for (const piece of this.#held.add(bytes)) page.add(this.#heldTime, piece, 0, piece.length);
  }
}

/** Whether a line is copied as it is: it fits, and nothing in it was overwritten. */
const isPlain = (length: number, most: number, nextReturn: number, end: number): boolean =>
  length <= most && (nextReturn < 0 || nextReturn >= end);
