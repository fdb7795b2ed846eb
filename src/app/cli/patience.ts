import { type Clock, codeOf, type Millis, sleep } from "#lib/base/index.ts";
import { ApiError } from "#kernel/model/index.ts";

/**
 * Between two looks after a connection that broke; with `mostFailures` a server may stay away for about ten seconds, as
 * long as a restart takes.
 */
export const reconnectMs: Millis = 500;
export const mostFailures = 20;

/** How often one thing may fail before it is given up: `mostFailures` times in a row, half a second apart. */
export class Patience {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #failures = 0;

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  /** The server works: what has failed before does not count any more. */
  forgive(): void {
    this.#failures = 0;
  }

  /**
   * Resolves when it is time to try again. Rejects with `thrown` when that is of no use or has been tried often enough,
   * and with the signal's reason once that has aborted.
   */
  async after(thrown: unknown): Promise<void> {
    this.#signal.throwIfAborted();
    this.#failures++;
    if (isFinal(thrown) || this.#failures > mostFailures) throw thrown;
    await sleep(this.#clock, reconnectMs, this.#signal);
  }
}

/** Does `work` until it succeeds, which may read only, for as long as a server may stay away. */
export async function patiently<T>(clock: Clock, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const patience = new Patience(clock, signal);
  for (;;) {
    try {
      return await work();
    } catch (thrown) {
      await patience.after(thrown);
    }
  }
}

/** A refusal stands, such as that of the credential or for what was deleted; but for those that ask to come back later. */
const isFinal = (thrown: unknown): boolean =>
  (thrown instanceof ApiError &&
    thrown.code >= 400 &&
    thrown.code < 500 &&
    thrown.code !== 408 &&
    thrown.code !== 429) ||
  codeOf(thrown) === "client-closed" ||
  codeOf(thrown) === "log-changed";
