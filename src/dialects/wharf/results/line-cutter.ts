import { carriageReturn, HeldLine, lineFeed } from "./held-line.ts";
import { LinePage } from "./line-page.ts";

const nothing = Buffer.alloc(0);

/** Splits one output stream into log lines: lines end at LF; a CR before it is dropped; text overwritten with CR is
 * dropped; lines longer than `maxLineBytes` continue in further lines with the same time. Works on bytes in linear
 * time. */
export class LineCutter {
  readonly #most: number;
  readonly #held: HeldLine;
  #heldTime: Buffer = nothing;

  constructor(maxLineBytes: number) {
    this.#most = maxLineBytes;
    this.#held = new HeldLine(maxLineBytes);
  }

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

  end(): LinePage {
    const page = new LinePage(0);
    if (this.#held.isBegun) this.#finish(nothing, this.#heldTime, page);
    return page;
  }

  #finish(rest: Buffer, time: Buffer, page: LinePage): void {
    this.#hold(rest, time, page);
    const last = this.#held.take();
    page.add(this.#heldTime.length > 0 ? this.#heldTime : time, last, 0, last.length);
    this.#heldTime = nothing;
  }

  #hold(bytes: Buffer, time: Buffer, page: LinePage): void {
    if (!this.#held.isBegun) this.#heldTime = time;
    for (const piece of this.#held.add(bytes)) page.add(this.#heldTime, piece, 0, piece.length);
  }
}

const isPlain = (length: number, most: number, nextReturn: number, end: number): boolean =>
  length <= most && (nextReturn < 0 || nextReturn >= end);
