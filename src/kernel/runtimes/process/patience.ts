import { afterAwake, type Cancel, type Clock, type Millis } from "#lib/base/index.ts";

/**
 * How long anything the runner owes is waited for: an answer, an accepted connection, its first sign of life. The longest that is
 * waited for with reason is a start on a slow disk: an intent that is flushed, and a fork. Below the 10 s that a server may take to
 * stop, so that a pass that waits for a runner that hangs has failed by then.
 */
export const answerLimit: Millis = 8_000;

/** The same once the runtime is being closed: a runner that does not take leave in this time is left without. */
export const closingLimit: Millis = 2_000;

/** The limit of every wait of one runtime. Nothing in this folder waits for the runner without it. */
export class Patience {
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  /** Of those who wait; one listener for all, as there may be a hundred of them. */
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock, closing: AbortSignal) {
    this.#clock = clock;
    this.#closing = closing;
    const hurryAll = () => {
      for (const hurry of this.#waiting) hurry();
    };
    closing.addEventListener("abort", hurryAll, { once: true });
  }

  /**
   * Calls `expire` when `answerLimit` is over, or `closingLimit` after the closing began, whichever comes first. Cancel it when what
   * was waited for has come; it leaves no timer behind. A time in which this process stood still is none in which the runner was silent.
   */
  limit(expire: () => void): Cancel {
    const timers: Cancel[] = [];
    const cancel = () => {
      this.#waiting.delete(hurry);
      for (const stop of timers.splice(0)) stop();
    };
    const end = () => {
      cancel();
      expire();
    };
    const hurry = () => void timers.push(afterAwake(this.#clock, closingLimit, end));
    timers.push(afterAwake(this.#clock, answerLimit, end));
    if (this.#closing.aborted) hurry();
    else this.#waiting.add(hurry);
    return cancel;
  }
}
