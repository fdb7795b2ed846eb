import { type Clock, codeOf, type Millis, sleep } from "#lib/base/index.ts";
import { ApiError } from "#kernel/model/index.ts";

/**
 * The pause after a broken connection; with `mostFailures`, a server may be away for ten seconds, as long as a restart
 * takes.
 */
export const reconnectMs: Millis = 500;
export const mostFailures = 20;

/** Gives up after `mostFailures` failures in a row. */
export class Patience {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #failures = 0;

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Resets the count: the server works. */
  forgive(): void {
    this.#failures = 0;
  }

  /**
   * Resolves when it is time to try again. Rejects with `thrown` if it is final or has occurred too often, and with the
   * signal's reason.
   */
  async after(thrown: unknown): Promise<void> {
    this.#signal.throwIfAborted();
    this.#failures++;
    if (isFinal(thrown) || this.#failures > mostFailures) throw thrown;
    await sleep(this.#clock, reconnectMs, this.#signal);
  }
}

/** Repeats read-only work until it succeeds or the server stays away too long. */
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

/** Refusals are final, except those that ask the client to retry. */
const isFinal = (thrown: unknown): boolean =>
  (thrown instanceof ApiError &&
    thrown.code >= 400 &&
    thrown.code < 500 &&
    thrown.code !== 408 &&
    thrown.code !== 429) ||
  codeOf(thrown) === "client-closed" ||
  codeOf(thrown) === "log-changed";
