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

  /**
   * Resolves in a turn with no other work of this kind. A long turn is followed by a rest of several times its length,
   * so that cheap requests stay fast. First come, first served; 429 when too many wait, except for a `patient` caller,
   * whose answer has begun.
   */
  async turn(patience?: "patient"): Promise<void> {
    if (patience === undefined && this.#waiting >= mostWaiting) throw tooManyRequests("requests about large objects");
    this.#waiting += 1;
    const granted = this.#rested.then(nextTurn);
    this.#rested = granted.then(() => this.#rest());
    await granted;
  }

  /**
   * Resolves in a turn with no other piece: for much work in steps of a millisecond, such as scanning a collection or
   * encoding a list. Cheap requests wait for one piece at most.
   */
  piece(): Promise<void> {
    this.#lastPiece = this.#lastPiece.then(nextTurn);
    return this.#lastPiece;
  }

  /**
   * Like `piece`, for work that clients can cause endlessly and cheaply, such as reading bodies: afterwards others have
   * the loop for twice as long, unless only `who` itself, which has one share at a time, is waiting.
   */
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
