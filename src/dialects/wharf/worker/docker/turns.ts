import { deferred } from "#lib/base/index.ts";

/** Lets few at a time do what gets slower for all of them when many do it at once. Who comes first has the first turn. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Resolves or rejects as the work does; the turn is given back either way. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else {
      const turn = deferred<void>();
      this.#waiting.push(() => turn.resolve());
      await turn.promise;
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
