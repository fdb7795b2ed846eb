import { type Cancel, type Clock, type Logger, type Millis } from "#lib/base/index.ts";

const firstRetryMs: Millis = 500;
const longestRetryMs: Millis = 30_000;

/**
 * Runs `work` for keys, each at most once at a time and again when it was added meanwhile. A key whose work throws is tried
 * again later, ever more slowly. Holds each key once, so it is as large as the number of distinct keys at most.
 */
export class KeyQueue {
  readonly #work: (key: string) => Promise<void>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #waiting = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #retries = new Map<string, { readonly delay: Millis; readonly cancel: Cancel }>();
  readonly #concurrency: number;
  #closed = false;

  constructor(options: {
    readonly work: (key: string) => Promise<void>;
    readonly clock: Clock;
    readonly log: Logger;
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
    // In a turn of its own: whoever adds is often in the middle of publishing a commit.
    setImmediate(() => this.#start());
  }

  /** True when nothing waits, runs or is to be tried again. */
  get idle(): boolean {
    return this.#waiting.size === 0 && this.#running.size === 0 && this.#retries.size === 0;
  }

  /** Starts nothing more and resolves when what runs has ended. */
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
