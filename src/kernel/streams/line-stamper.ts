import type { Instant } from "#lib/base/index.ts";
import { type LogStream, longestHeldText, newline, prefixLength, recordPrefix } from "./record.ts";

export interface Stamped {
  /** Whole records only. */
  readonly bytes: Buffer;
  /** 0 if everything is held back. */
  readonly records: number;
  /** Records that end a line. */
  readonly lines: number;
  /** The time of all of them. */
  readonly at: Instant;
}

const nothing: Stamped = { bytes: Buffer.alloc(0), records: 0, lines: 0, at: 0 };

/**
 * Turns the raw output of one stream into records. An unfinished line is held until its newline comes, until `flush`,
 * or until it grows past `longestHeldText`. Not text but bytes are handled: one prefix is made per chunk and copied
 * before each line.
 *
 *     stamp("one\ntw")  ->  "<time> stdout F one\n"      holds "tw"
 *     stamp("o\n")      ->  "<time> stdout F two\n"      a line has the time of its end
 *     flush()           ->  "<time> stdout P …\n"        for what is held without an end
 *
 * Linear in the bytes. Characters are never looked at: a record may begin or end in the middle of one, and a carriage
 * return is text like any other.
 */
export class LineStamper {
  readonly #stream: LogStream;
  #held: Buffer[] = [];
  #heldLength = 0;

  constructor(stream: LogStream) {
    this.#stream = stream;
  }

  /** The beginning of an unfinished line is held back. */
  get holds(): boolean {
    return this.#heldLength > 0;
  }

  /** Records for `chunk` with the time `at`. The chunk may be kept; the caller must not change it. */
  stamp(chunk: Buffer, at: Instant): Stamped {
    const last = chunk.lastIndexOf(newline);
    if (last < 0) return this.#hold(chunk, at);
    const page = new Page(chunk.length + this.#heldLength);
    const prefix = recordPrefix(at, this.#stream, "F");
    let records = 0;
    let from = 0;
    if (this.#heldLength > 0) {
      const first = chunk.indexOf(newline);
      page.add(prefix, [...this.#take(), chunk.subarray(0, first + 1)]);
      from = first + 1;
      records++;
    }
    records += page.addLines(prefix, chunk, from, last + 1);
    from = last + 1;
    if (from === chunk.length) return { bytes: page.bytes(), records, lines: records, at };
    const rest = this.#hold(chunk.subarray(from), at);
    if (rest.records === 0) return { bytes: page.bytes(), records, lines: records, at };
    return {
      ...rest,
      bytes: Buffer.concat([page.bytes(), rest.bytes]),
      records: records + rest.records,
      lines: records,
    };
  }

  /** The held beginning of a line as a `P` record. The rest of the line becomes a record of its own. */
  flush(at: Instant): Stamped {
    if (this.#heldLength === 0) return nothing;
    const prefix = recordPrefix(at, this.#stream, "P");
    return { bytes: Buffer.concat([prefix, ...this.#take(), lineEnd]), records: 1, lines: 0, at };
  }

  #hold(piece: Buffer, at: Instant): Stamped {
    if (piece.length === 0) return nothing;
    this.#held.push(piece);
    this.#heldLength += piece.length;
    // A producer of single bytes must not keep thousands of buffers alive.
    if (this.#held.length > 64) this.#held = [Buffer.concat(this.#held)];
    return this.#heldLength > longestHeldText ? this.flush(at) : nothing;
  }

  #take(): readonly Buffer[] {
    const held = this.#held;
    this.#held = [];
    this.#heldLength = 0;
    return held;
  }
}

/** Shorter lines cost less as text than as bytes. Checked once per chunk. */
const shortLine = 256;
const lineEnd = Buffer.from("\n");

/** Prefixes can be much longer than the lines. Doubling keeps it linear. */
class Page {
  #buffer: Buffer;
  #length = 0;

  constructor(textLength: number) {
    this.#buffer = Buffer.allocUnsafe(textLength + (textLength >> 1) + 4 * prefixLength);
  }

  addSlice(prefix: Buffer, source: Buffer, from: number, to: number): void {
    this.#reserve(prefixLength + to - from);
    this.#buffer.set(prefix, this.#length);
    source.copy(this.#buffer, this.#length + prefixLength, from, to);
    this.#length += prefixLength + to - from;
  }

  /** Adds whole lines with the prefix; returns their number. */
  addLines(prefix: Buffer, source: Buffer, from: number, to: number): number {
    if (from < to && source.indexOf(newline, from) - from < shortLine) return this.#addShort(prefix, source, from, to);
    let count = 0;
    for (let end: number; from < to; from = end, count++) {
      end = source.indexOf(newline, from) + 1;
      this.addSlice(prefix, source, from, end);
    }
    return count;
  }

  /** As latin1 text, which costs a third of copying a few bytes at a time. */
  #addShort(prefix: Buffer, source: Buffer, from: number, to: number): number {
    const before = prefix.toString("latin1");
    const text = source.toString("latin1", from, to);
    let stamped = "";
    let count = 0;
    for (let at = 0; at < text.length; count++) {
      const end = text.indexOf("\n", at) + 1;
      stamped += before + text.slice(at, end);
      at = end;
    }
    this.#reserve(stamped.length);
    this.#length += this.#buffer.write(stamped, this.#length, "latin1");
    return count;
  }

  add(prefix: Buffer, pieces: readonly Buffer[]): void {
    const text = Buffer.concat(pieces);
    this.addSlice(prefix, text, 0, text.length);
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#buffer.length) return;
    const bigger = Buffer.allocUnsafe(2 * (this.#buffer.length + more));
    this.#buffer.copy(bigger, 0, 0, this.#length);
    this.#buffer = bigger;
  }
}
