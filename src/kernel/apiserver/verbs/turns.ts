import { type Clock, type Millis, sleep } from "#lib/base/index.ts";
import { tooManyRequests } from "#kernel/model/index.ts";

/** A GET that waits so long takes a few times as long as on an idle server. */
const harmlessMs: Millis = 4;
/** How many times as long as it was held the loop is left to others. */
const restShare = 4;
const longestRestMs: Millis = 2000;
/** The same for shares. */
const shareRest = 2;
/** A third of the places for changes (`Limits.maxMutatingRequests`). */
const mostWaiting = 64;

/** Shares of the event loop for what takes much of it. One per server: whoever asks for little gets on between two of them. */
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
   * Resolves in a turn of the event loop in which nothing else of its kind is done, so that what has come meanwhile is answered between two
   * of them. What has kept the loop for long is followed by a rest of several times as long, in which nobody but the small ones gets
   * on: one in a hundred of those is late, whatever large ones do. First come, first served. Rejects with 429 when too many
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

  /**
   * Resolves in a turn of which no other piece takes a part: for work of a millisecond of which there may be much at once, such as looking
   * through a collection or making the parts of a list. Whoever asks for little waits for one piece, however many ask for much.
   */
  piece(): Promise<void> {
    this.#lastPiece = this.#lastPiece.then(nextTurn);
    return this.#lastPiece;
  }

  /**
   * As `piece`, for what clients can bring about without end and almost for nothing, such as reading what they send: after each the loop is left to
   * others for twice as long as that turn of it took, whoever's work was done in it. `who` is what the work is done for, with one share at a time; as long
   * as nothing else waits for a share it need not rest.
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

  /** Begins with the turn, and so looks at what is done in it. */
  async #rest(): Promise<void> {
    this.#waiting -= 1;
    const held = await this.#timeOfTurn();
    if (held > harmlessMs) await sleep(this.#clock, Math.min(held * restShare, longestRestMs));
  }

  /** From now to the next turn. */
  async #timeOfTurn(): Promise<Millis> {
    const begun = this.#clock.monotonic();
    await nextTurn();
    return this.#clock.monotonic() - begun;
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
