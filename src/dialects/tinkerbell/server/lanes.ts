import { RpcError } from "#kernel/rpc/index.ts";

/** An agent sends one thing at a time, so more is abuse. */
const maxWaiting = 64;

interface Lane {
  tail: Promise<unknown>;
  waiting: number;
}

/** Runs work of one key in order and different keys in parallel. At most 64 wait per key. */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();

  /** Rejects with UNAVAILABLE if too much waits. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const lane = this.#lanes.get(key) ?? { tail: Promise.resolve(), waiting: 0 };
    if (lane.waiting >= maxWaiting) throw new RpcError("UNAVAILABLE", "too much of this agent waits to be recorded");
    this.#lanes.set(key, lane);
    lane.waiting++;
    const done = lane.tail.then(work);
    // The next one runs whatever this one's result.
    lane.tail = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      if (--lane.waiting === 0) this.#lanes.delete(key);
    }
  }
}
