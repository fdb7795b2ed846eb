import { createHash } from "node:crypto";
import { SlipwayError } from "#lib/base/index.ts";

/** A place in a log, identified by the bytes before it: the API has no positions, and timestamps are not unique. */
export interface LogPlace {
  /** The first byte to show. */
  readonly from: number;
  /** The number of bytes from the start, at least `from`, that `digest` covers. */
  readonly length: number;
  readonly digest: string;
}

const algorithm = "sha256";

export const logStart: LogPlace = { from: 0, length: 0, digest: "" };

/** The server keeps a limited length of every log, and a container may have restarted. */
const changed = (): SlipwayError =>
  new SlipwayError("log-changed", "the server no longer has the beginning of the log, so it cannot be continued");

/** Reads a log from its start and shows what follows a place. Fails with `log-changed` for another log. */
export class PlacedReading {
  readonly #start: LogPlace;
  readonly #hash = createHash(algorithm);
  #read = 0;

  constructor(start: LogPlace) {
    this.#start = start;
  }

  /** The part of the chunk to show. Throws before it shows anything of another log. */
  take(chunk: Uint8Array): Uint8Array {
    const unknown = Math.max(0, this.#start.length - this.#read);
    this.#hash.update(chunk.subarray(0, unknown));
    if (unknown > 0 && unknown <= chunk.length && this.#digest() !== this.#start.digest) throw changed();
    this.#hash.update(chunk.subarray(unknown));
    const hidden = Math.max(0, this.#start.from - this.#read);
    this.#read += chunk.length;
    return chunk.subarray(hidden);
  }

  /** Called at the end of the log: one that is shorter than before is another log. */
  end(): void {
    if (this.#read < this.#start.length) throw changed();
  }

  /** Where the next reading continues. */
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
 * Where the last `lines` lines of a log begin; an incomplete last line counts as one. Reads all of it and keeps one
 * number for each line.
 */
export async function tailPlace(log: AsyncIterable<Uint8Array>, lines: number): Promise<LogPlace> {
  const hash = createHash(algorithm);
  // A ring of the newest starts of lines.
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
    // An incomplete line may still change.
    if (from > 0) digest = hash.copy().digest("hex");
    hash.update(chunk.subarray(from));
    read += chunk.length;
  }
  const length = lineStart;
  if (lines > 0 && read > lineStart) begin(lineStart);
  const from = lines <= 0 ? lineStart : count <= lines ? 0 : (starts[count % lines] ?? 0);
  return { from, length, digest };
}
