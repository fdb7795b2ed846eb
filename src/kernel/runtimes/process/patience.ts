import { setMaxListeners } from "node:events";
import { afterAwake, type Cancel, type Clock, type Millis, onAbort } from "#lib/base/index.ts";

/** How long to wait for the runner. Fits a start on a slow disk; below the 10 s a server may take to stop. */
export const answerLimit: Millis = 8_000;

/** The same once the runtime is closing. */
export const closingLimit: Millis = 2_000;

/** The limit of every wait for the runner. */
export class Patience {
  readonly #clock: Clock;
  readonly #closing: AbortSignal;

  constructor(clock: Clock, closing: AbortSignal) {
    this.#clock = clock;
    this.#closing = closing;
    // Each pending request listens to it.
    setMaxListeners(0, closing);
  }

  /** Calls `expire` after `answerLimit`, or `closingLimit` once closing, not counting standstills. Returns a cancel. */
  limit(expire: () => void): Cancel {
    const cancels: Cancel[] = [];
    const cancel = () => {
      for (const stop of cancels.splice(0)) stop();
    };
    const expireAfter = (limit: Millis) =>
      void cancels.push(
        afterAwake(this.#clock, limit, () => {
          cancel();
          expire();
        }),
      );
    expireAfter(answerLimit);
    cancels.push(onAbort(this.#closing, () => expireAfter(closingLimit)));
    return cancel;
  }
}
