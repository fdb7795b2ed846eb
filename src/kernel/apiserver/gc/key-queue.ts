import { type Cancel, type Clock, type Logger, type Millis } from "#lib/base/index.ts";

const firstRetryMs: Millis = 500;
const longestRetryMs: Millis = 30_000;

/** Runs `work` per key, one at a time, again if the key was added meanwhile. Retries failures with backoff. */
export class KeyQueue {
  readonly #work: (key: string) => Promise<void>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #waiting = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  /** Failed keys with their delays, until the next run. */
  readonly #retries = new Map<string, { readonly delay: Millis; readonly cancel: Cancel }>();
  readonly #concurrency: number;
  #closed = false;

  constructor(options: {
    readonly work: (key: string) => Promise<void>;
    readonly clock: Clock;
    readonly log: Logger;
    /** 8 by default. */
    readonly concurrency?: number;
  }) {
    this.#work = options.work;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#concurrency = options.concurrency ?? 8;
  }

  add(key: string): void {
    if (this.#closed) return;
    this.#waiting.add(key);
    // The caller may be publishing a commit.
    setImmediate(() => this.#start());
  }

  get idle(): boolean {
    return this.#waiting.size === 0 && this.#running.size === 0 && this.#retries.size === 0;
  }

  /** Drops waiting keys; resolves when running work has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#waiting.clear();
    for (const { cancel } of this.#retries.values()) cancel();
    this.#retries.clear();
    await Promise.all(this.#running.values());
  }

  #start(): void {
    for (const key of this.#waiting) {
      if (this.#closed || this.#running.size >= this.#concurrency) return;
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key);
      this.#running.set(key, this.#run(key));
    }
  }

  async #run(key: string): Promise<void> {
    const before = this.#retries.get(key);
    before?.cancel();
    this.#retries.delete(key);
    try {
      await this.#work(key);
    } catch (error) {
      this.#log.warn("collection failed, will be tried again", { key, error });
      this.#retryLater(key, Math.min(longestRetryMs, (before?.delay ?? firstRetryMs / 2) * 2));
    } finally {
      this.#running.delete(key);
      this.#start();
    }
  }

  #retryLater(key: string, delay: Millis): void {
    if (this.#closed) return;
    const cancel = this.#clock.after(delay, () => this.add(key));
    this.#retries.set(key, { delay, cancel });
  }
}
