import { type Clock, type Millis, sleep } from "#lib/base/index.ts";
import { tooManyRequests } from "#kernel/model/index.ts";
import type { Limits } from "../verbs/limits.ts";
import { nextTurn, Pieces } from "../verbs/pieces.ts";
import { count } from "./counts.ts";

// Most bodies have a few kilobytes, come in one piece and pass by here. Large ones are dear twice: in memory while they come, which a slow client can make
// long, and in time when they are read, which nothing can interrupt.

/** Bodies up to this size take no time worth counting to read, and no memory when they come in one piece. */
export const largeBodyBytes = 64 * 1024;

/** A GET that waits so long takes a few times as long as on an idle server. */
const harmlessMs: Millis = 4;
/** How many times as long as it was held the loop is left to others. */
const restShare = 4;
const longestRestMs: Millis = 2000;
/** A third of the places for changes (`Limits.maxMutatingRequests`). */
const mostWaiting = 64;

/** Of all users together, and of each. */
export type LargeBodyLimits = Pick<Limits, "maxLargeBodyBytes" | "maxLargeBodyBytesPerUser">;

/** What large bodies take of a server, all listeners together. */
export class LargeBodies {
  readonly #limits: LargeBodyLimits;
  readonly #clock: Clock;
  #bytes = 0;
  readonly #bytesByUser = new Map<string, number>();
  #rested = Promise.resolve();
  #waiting = 0;
  readonly #pieces: Pieces;

  /** `pieces` are those of the server, which more than bodies are made of. */
  constructor(limits: LargeBodyLimits, clock: Clock, pieces: Pieces = new Pieces()) {
    this.#limits = limits;
    this.#pieces = pieces;
    this.#clock = clock;
  }

  /** Bytes under way now. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Counts bytes that have come, or throws 429: whoever comes again in a second finds the others gone. One user leaves room for
   * the others, however slowly his bodies come.
   */
  hold(user: string, bytes: number): void {
    const { maxLargeBodyBytes, maxLargeBodyBytesPerUser } = this.#limits;
    const own = (this.#bytesByUser.get(user) ?? 0) + bytes;
    if (this.#bytes + bytes > maxLargeBodyBytes || own > maxLargeBodyBytesPerUser)
      throw tooManyRequests("large bodies");
    this.#bytes += bytes;
    count(this.#bytesByUser, user, bytes);
  }

  /** Bytes that were held are needed no more. */
  release(user: string, bytes: number): void {
    this.#bytes -= bytes;
    count(this.#bytesByUser, user, -bytes);
  }

  /**
   * Resolves in a turn of the event loop in which no other large body is read, so that what has come meanwhile is answered between two
   * of them. What has kept the loop for long is followed by a rest of several times as long, in which nobody but the small ones gets
   * on: one in a hundred of those is late, whatever large bodies do. First come, first served. Rejects with 429 when too many
   * wait already: they hold places among the requests under way, and small ones need some, too. An answer that has begun is `patient`,
   * and waits with any number of others.
   */
  async turn(patience?: "patient"): Promise<void> {
    if (patience === undefined && this.#waiting >= mostWaiting) throw tooManyRequests("requests about large objects");
    this.#waiting += 1;
    const granted = this.#rested.then(nextTurn);
    this.#rested = granted.then(() => this.#rest());
    await granted;
  }

  /** `Pieces.next`. */
  piece(): Promise<void> {
    return this.#pieces.next();
  }

  /** Begins with the turn, and so looks at what is done in it. */
  async #rest(): Promise<void> {
    this.#waiting -= 1;
    const begun = this.#clock.monotonic();
    await nextTurn();
    const held = this.#clock.monotonic() - begun;
    if (held > harmlessMs) await sleep(this.#clock, Math.min(held * restShare, longestRestMs));
  }
}
