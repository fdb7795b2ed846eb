import { type Cancel, type Clock, type Logger, type Millis } from "#lib/base/index.ts";

const firstRetryMs: Millis = 500;
const longestRetryMs: Millis = 30_000;

/**
 * Runs `work` for keys, each at most once at a time and again when it was added meanwhile. A key whose work throws is tried
 * again later, ever more slowly (0.5 s doubling to 30 s), for ever: what it waits for is a store that recovers. Adding a key that waits
 * for a retry runs it now, and a failure then counts on. Holds each key once, so it is as large as the number of distinct keys at most.
 * Smaller than the work queue of the kit on purpose: no rate limit, no priorities, no observers.
 */
export class KeyQueue {
  readonly #work: (key: string) => Promise<void>;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** In order of adding. */
  readonly #waiting = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  /** Keys whose last run failed; kept until the next run begins, so that its delay is known. */
  readonly #retries = new Map<string, { readonly delay: Millis; readonly cancel: Cancel }>();
  readonly #concurrency: number;
  #closed = false;

  constructor(options: {
    readonly work: (key: string) => Promise<void>;
    readonly clock: Clock;
    readonly log: Logger;
    /** Keys at work at once; 8 unless told. Each is a few writes, and writes of one turn share a commit. */
    readonly concurrency?: number;
  }) {
    this.#work = options.work;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#concurrency = options.concurrency ?? 8;
  }

  /** Whoever adds need not wait, and may add again at any time. After the close it means nothing. */
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

  /** Starts nothing more, forgets what waits and resolves when what runs has ended. A restart looks at everything again. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#waiting.clear();
    for (const { cancel } of this.#retries.values()) cancel();
    this.#retries.clear();
    await Promise.all(this.#running.values());
  }

  /** Starts what may start. A key that is at work stays where it is and comes again when that has ended. */
  #start(): void {
    for (const key of this.#waiting) {
      if (this.#closed || this.#running.size >= this.#concurrency) return;
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key);
      this.#running.set(key, this.#run(key));
    }
  }

  /** Never rejects: what work throws is logged and tried again. */
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
