import type { Clock } from "#lib/base/index.ts";
import { tooManyRequests } from "#kernel/model/index.ts";
import type { Limits } from "../verbs/limits.ts";
import { Turns } from "../verbs/turns.ts";
import { count } from "./counts.ts";

// Most bodies have a few kilobytes, come in one piece and pass by here. Large ones are dear twice: in memory while they come, which a slow client can make
// long, and in time when they are read, which nothing can interrupt.

/** Bodies up to this size take no time worth counting to read, and no memory when they come in one piece. */
export const largeBodyBytes = 64 * 1024;

/** Of all users together, and of each. */
export type LargeBodyLimits = Pick<Limits, "maxLargeBodyBytes" | "maxLargeBodyBytesPerUser">;

/** What large bodies take of a server, all listeners together. */
export class LargeBodies {
  readonly #limits: LargeBodyLimits;
  #bytes = 0;
  readonly #bytesByUser = new Map<string, number>();
  readonly #turns: Turns;

  /** `turns` are those of the server, which other things take, too. */
  constructor(limits: LargeBodyLimits, clock: Clock, turns = new Turns(clock)) {
    this.#limits = limits;
    this.#turns = turns;
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

  /** `Turns.turn`. */
  turn(patience?: "patient"): Promise<void> {
    return this.#turns.turn(patience);
  }

  /** `Turns.share`. */
  share(who: object): Promise<void> {
    return this.#turns.share(who);
  }

  /** `Turns.piece`. */
  piece(): Promise<void> {
    return this.#turns.piece();
  }
}
