import type { Clock } from "#lib/base/index.ts";
import { tooManyRequests } from "#kernel/model/index.ts";
import type { Limits } from "../verbs/limits.ts";
import { Turns } from "../verbs/turns.ts";
import { count } from "./in-flight.ts";

// Bodies cost memory while a client sends them, and uninterruptible time when they are read.

/** Smaller bodies take no time worth counting. */
export const largeBodyBytes = 64 * 1024;

export type LargeBodyLimits = Pick<Limits, "maxLargeBodyBytes" | "maxLargeBodyBytesPerUser">;

export class LargeBodies {
  readonly #limits: LargeBodyLimits;
  #bytes = 0;
  readonly #bytesByUser = new Map<string, number>();
  readonly #turns: Turns;

  /** `turns` are the server's. */
  constructor(limits: LargeBodyLimits, clock: Clock, turns = new Turns(clock)) {
    this.#limits = limits;
    this.#turns = turns;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Counts bytes that have arrived, or throws 429. One user's share leaves room for others. */
  hold(user: string, bytes: number): void {
    const { maxLargeBodyBytes, maxLargeBodyBytesPerUser } = this.#limits;
    const own = (this.#bytesByUser.get(user) ?? 0) + bytes;
    if (this.#bytes + bytes > maxLargeBodyBytes || own > maxLargeBodyBytesPerUser)
      throw tooManyRequests("large bodies");
    this.#bytes += bytes;
    count(this.#bytesByUser, user, bytes);
  }

  release(user: string, bytes: number): void {
    this.#bytes -= bytes;
    count(this.#bytesByUser, user, -bytes);
  }

  turn(patience?: "patient"): Promise<void> {
    return this.#turns.turn(patience);
  }

  share(who: object): Promise<void> {
    return this.#turns.share(who);
  }

  piece(): Promise<void> {
    return this.#turns.piece();
  }
}
