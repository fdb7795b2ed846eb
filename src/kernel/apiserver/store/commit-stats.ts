import type { StoreStats } from "./store.ts";

/** Upper bounds in seconds. */
const limits = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, Number.POSITIVE_INFINITY];

type Counted = Pick<
  StoreStats,
  "commits" | "writes" | "lastBatch" | "commitSeconds" | "commitSecondsSum" | "failedCommits"
>;

export class CommitStats {
  readonly #counts = limits.map(() => 0);
  #commits = 0;
  #writes = 0;
  #lastBatch = 0;
  #seconds = 0;
  #failed = 0;

  /** `seconds` is from making the batch to its flush, without the queue. */
  committed(writes: number, seconds: number): void {
    this.#commits++;
    this.#writes += writes;
    this.#lastBatch = writes;
    this.#seconds += seconds;
    const bucket = limits.findIndex((limit) => seconds <= limit);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
  }

  failed(): void {
    this.#failed++;
  }

  snapshot(): Counted {
    let count = 0;
    return {
      commits: this.#commits,
      writes: this.#writes,
      lastBatch: this.#lastBatch,
      commitSeconds: limits.map((upTo, index) => ({ upTo, count: (count += this.#counts[index] ?? 0) })),
      commitSecondsSum: this.#seconds,
      failedCommits: this.#failed,
    };
  }
}
