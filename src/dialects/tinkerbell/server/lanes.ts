import { RpcError } from "#kernel/rpc/index.ts";

/** More than this of one agent do not wait: an agent tells one thing after the other. */
const maxWaiting = 64;

/** What is done for one key, and how much of it there is. */
interface Lane {
  tail: Promise<unknown>;
  waiting: number;
}

/**
 * Work of one key is done strictly one after the other, that of different keys side by side. A lane lasts as long as there is something in
 * it; at most 64 wait in one.
 */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();

  /** Resolves or rejects as the work does. Rejects with UNAVAILABLE, and does nothing, when too much waits. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const lane = this.#lanes.get(key) ?? { tail: Promise.resolve(), waiting: 0 };
    if (lane.waiting >= maxWaiting) throw new RpcError("UNAVAILABLE", "too much of this agent waits to be recorded");
    this.#lanes.set(key, lane);
    lane.waiting++;
    const done = lane.tail.then(work);
    // Whoever comes next does not care how this one ended.
    lane.tail = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      if (--lane.waiting === 0) this.#lanes.delete(key);
    }
  }
}
