import { createHash } from "node:crypto";
import { SlipwayError } from "#lib/base/index.ts";

/**
 * A place in a log that a later reading finds again, told by what comes before it: logs have no positions in the API, and
 * times are neither one for each piece of output nor there for a line that goes on.
 */
export interface LogPlace {
  /** What is shown begins here, counted in bytes from the start of the log. */
  readonly from: number;
  /** So many bytes from the start, `from` at the least, are known by their `digest`. */
  readonly length: number;
  readonly digest: string;
}

const algorithm = "sha256";

/** The start of every log. */
export const logStart: LogPlace = { from: 0, length: 0, digest: "" };

/** The server keeps a limited length of every log, so that the beginning may be gone, or the container has begun anew. */
const changed = (): SlipwayError =>
  new SlipwayError(
    "log-changed",
    "the beginning of the log is not on the server any more, so the place is not found again",
  );

/** One reading of a log from its start on that shows what lies behind a place. Rejects another log with `log-changed`. */
export class PlacedReading {
  readonly #start: LogPlace;
  readonly #hash = createHash(algorithm);
  #read = 0;

  constructor(start: LogPlace) {
    this.#start = start;
  }

  /** What is to be shown of the next piece; empty before the place. Throws before it shows anything of another log. */
  take(chunk: Uint8Array): Uint8Array {
    const unknown = Math.max(0, this.#start.length - this.#read);
    this.#hash.update(chunk.subarray(0, unknown));
    if (unknown > 0 && unknown <= chunk.length && this.#digest() !== this.#start.digest) throw changed();
    this.#hash.update(chunk.subarray(unknown));
    const hidden = Math.max(0, this.#start.from - this.#read);
    this.#read += chunk.length;
    return chunk.subarray(hidden);
  }

  /** To be called when the log has ended: one that is shorter than it was is another. */
  end(): void {
    if (this.#read < this.#start.length) throw changed();
  }

  /** Where the next reading goes on. */
  place(): LogPlace {
    if (this.#read <= this.#start.from) return this.#start;
    return { from: this.#read, length: this.#read, digest: this.#digest() };
  }

  #digest(): string {
    return this.#hash.copy().digest("hex");
  }
}

const newline = 10;

/**
 * Where the last `lines` lines of a log begin; a last line without an end is one. 0 lines are what comes after the last
 * line that has ended. Reads it all, and holds one number for each line that is wanted.
 */
export async function tailPlace(log: AsyncIterable<Uint8Array>, lines: number): Promise<LogPlace> {
  const hash = createHash(algorithm);
  // The newest starts of lines, each in the place of the one that it pushes out.
  const starts: number[] = [];
  let count = 0;
  let lineStart = 0;
  let read = 0;
  let digest = "";
  const begin = (at: number): void => {
    if (lines > 0) starts[count % lines] = at;
    count++;
  };
  for await (const chunk of log) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      begin(lineStart);
      from = end + 1;
      lineStart = read + from;
    }
    hash.update(chunk.subarray(0, from));
    // No further: what has no end yet may be the beginning of a record that is just being written.
    if (from > 0) digest = hash.copy().digest("hex");
    hash.update(chunk.subarray(from));
    read += chunk.length;
  }
  const length = lineStart;
  if (lines > 0 && read > lineStart) begin(lineStart);
  const from = lines <= 0 ? lineStart : count <= lines ? 0 : (starts[count % lines] ?? 0);
  return { from, length, digest };
}
