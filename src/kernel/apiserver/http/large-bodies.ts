import { tooManyRequests } from "#kernel/model/index.ts";

// Most bodies have a few kilobytes, come in one piece and pass by here. Large ones are dear twice: in memory while they come, which a slow client can make
// long, and in time when they are read, which nothing can interrupt.

/** Bodies up to this size take no time worth counting to read, and no memory when they come in one piece. */
export const largeBodyBytes = 64 * 1024;

/** What large bodies take of a server, all listeners together. */
export class LargeBodies {
  readonly #maxBytes: number;
  #bytes = 0;
  #lastTurn = Promise.resolve();

  /** `maxBytes`: of all large bodies that are under way together. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes under way now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts bytes that have come, or throws 429: whoever comes again in a second finds the others gone. */
  hold(bytes: number): void {
    if (this.#bytes + bytes > this.#maxBytes) throw tooManyRequests("large bodies");
    this.#bytes += bytes;
  }

  /** Bytes that were held are needed no more. */
  release(bytes: number): void {
    this.#bytes -= bytes;
  }

  /**
   * Resolves in a turn of the event loop in which no other large body is read, so that what has come meanwhile is answered between two
   * of them. First come, first served; as many wait as `maxBytes` has room for.
   */
  turn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(nextTurn);
    return this.#lastTurn;
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
