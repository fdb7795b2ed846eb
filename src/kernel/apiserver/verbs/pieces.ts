/**
 * Work of a millisecond of which there may be much at once, such as looking through a collection or making the parts of a list: one
 * piece in a turn of the event loop, whoever it is for. Whoever asks for little waits for one piece, however many ask for much.
 */
export class Pieces {
  #last = Promise.resolve();

  /** Resolves in a turn of which no other piece takes a part. First come, first served. */
  next(): Promise<void> {
    this.#last = this.#last.then(nextTurn);
    return this.#last;
  }
}

/** What is ready by now gets on first. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
