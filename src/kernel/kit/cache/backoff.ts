import type { Millis, Random } from "#lib/base/index.ts";

/** The series of delays: `first`, `first * factor`, … up to `longest`. */
export interface BackoffOptions {
  readonly first: Millis;
  readonly factor: number;
  readonly longest: Millis;
  /** The share of each delay that is drawn at random on top of it. */
  readonly jitter: number;
  readonly random: Random;
}

/** Growing delays between tries. `longest` bounds them before jitter, so that many who failed together do not come back together. */
export class Backoff {
  readonly #options: BackoffOptions;
  #next: Millis;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#next = options.first;
  }

  /** The delay before the next try, in whole milliseconds; every call counts as a failure. */
  next(): Millis {
    const { factor, longest, jitter, random } = this.#options;
    const delay = this.#next;
    this.#next = Math.min(longest, delay * factor);
    return Math.round(delay * (1 + jitter * random()));
  }

  /** It worked: the next failure is a first one. */
  reset(): void {
    this.#next = this.#options.first;
  }
}
