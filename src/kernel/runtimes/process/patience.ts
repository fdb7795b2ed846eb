import { afterAwake, type Cancel, type Clock, type Millis } from "#lib/base/index.ts";

/**
 * How long the runner is awaited: for an answer, a connection, its first output. The longest justified wait is a start
 * on a slow disk. Below the 10 s a server may take to stop.
 */
export const answerLimit: Millis = 8_000;

/** The same while the runtime is closing. */
export const closingLimit: Millis = 2_000;

/** The limit of all waits of one runtime for its runner. */
export class Patience {
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  /** One listener for all of up to a hundred waits. */
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
   * Calls `expire` after `answerLimit`, or `closingLimit` after closing began, whichever is first. Time in which this
   * process stood still does not count. Leaves no timer behind when canceled.
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
