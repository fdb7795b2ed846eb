import { type Clock, type Millis, sleep } from "#lib/base/index.ts";
import { tooManyRequests } from "#kernel/model/index.ts";

/** Others are hardly delayed by less. */
const harmlessMs: Millis = 4;
/** Rest after a long turn, relative to its length. */
const restShare = 4;
const longestRestMs: Millis = 2000;
const shareRest = 2;
/** A third of `Limits.maxMutatingRequests`. */
const mostWaiting = 64;

/** Shares of the event loop for expensive work; cheap requests run in between. One per server. */
export class Turns {
  readonly #clock: Clock;
  #rested = Promise.resolve();
  #waiting = 0;
  #lastPiece = Promise.resolve();
  #lastShare = Promise.resolve();
  readonly #waitingShares = new Set<object>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Long turns are followed by a rest, so cheap requests stay fast. 429 when too many wait, unless `patient`. */
  async turn(patience?: "patient"): Promise<void> {
    if (patience === undefined && this.#waiting >= mostWaiting) throw tooManyRequests("requests about large objects");
    this.#waiting += 1;
    const granted = this.#rested.then(nextTurn);
    this.#rested = granted.then(() => this.#rest());
    await granted;
  }

  /** For work in steps of a millisecond, such as encoding a list. Cheap requests wait for one piece at most. */
  piece(): Promise<void> {
    this.#lastPiece = this.#lastPiece.then(nextTurn);
    return this.#lastPiece;
  }

  /** Like `piece`, for work clients can cause cheaply: others then get it for longer, unless only `who` waits. */
  share(who: object): Promise<void> {
    const waiting = this.#waitingShares.add(who);
    const granted = this.#lastShare.then(nextTurn);
    this.#lastShare = granted.then(async () => {
      waiting.delete(who);
      const held = await this.#timeOfTurn();
      // It may have asked for its next share in this turn.
      if (waiting.size > (waiting.has(who) ? 1 : 0)) await sleep(this.#clock, shareRest * held);
    });
    return granted;
  }

  /** Starts with the turn and measures it. */
  async #rest(): Promise<void> {
    this.#waiting -= 1;
    const held = await this.#timeOfTurn();
    if (held > harmlessMs) await sleep(this.#clock, Math.min(held * restShare, longestRestMs));
  }

  async #timeOfTurn(): Promise<Millis> {
    const begun = this.#clock.monotonic();
    await nextTurn();
    return this.#clock.monotonic() - begun;
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
