import { type Clock, deferred, type Millis } from "#lib/base/index.ts";
import { TokenBucket } from "../client/token-bucket.ts";
import { DelayHeap } from "./delay-heap.ts";
import { Fifo } from "./fifo.ts";

const priorities = ["live", "owed", "background"] as const;
/** `live` is for changes, `owed` for initial objects that wait for something, `background` for repetitions. */
export type Priority = (typeof priorities)[number];

const isHigher = (one: Priority, other: Priority): boolean => priorities.indexOf(one) < priorities.indexOf(other);

/** For metrics. Times in milliseconds. */
export interface QueueObserver {
  /** A key began to wait. */
  added?(): void;
  taken?(waited: Millis): void;
  done?(worked: Millis): void;
  /** A key was put back after a failure; `added` follows when its delay is over. */
  retried?(): void;
}

export interface QueueStats {
  readonly depth: number;
  readonly processing: number;
  readonly delayed: number;
  /** 0 if there is none. */
  readonly longestRunning: Millis;
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly observer?: QueueObserver;
  /** A key's first retry, doubling up to `longestRetry`; default: 5 ms and 1000 s. */
  readonly firstRetry?: Millis;
  readonly longestRetry?: Millis;
  /** Retries of all keys together; default: 10 a second with bursts of 100. */
  readonly retryLimit?: { readonly perSecond: number; readonly burst: number };
}

/** waiting -> processing -> (gone), or processing -> again -> waiting. */
interface Item {
  state: "waiting" | "processing" | "again";
  priority: Priority;
  againPriority: Priority;
  since: Millis;
}

/** Keys of work: each waits once and is processed once at a time. Operations cost O(1), delays O(log n). */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #observer: QueueObserver;
  readonly #firstRetry: Millis;
  readonly #longestRetry: Millis;
  readonly #retries: TokenBucket;
  readonly #items = new Map<string, Item>();
  readonly #processing = new Set<string>();
  readonly #lanes: Readonly<Record<Priority, Fifo<string>>> = {
    live: new Fifo(),
    owed: new Fifo(),
    background: new Fifo(),
  };
  readonly #delays = new DelayHeap();
  readonly #failures = new Map<string, number>();
  #depth = 0;
  #timer: { readonly at: Millis; readonly cancel: () => void } | undefined;
  #onReady: () => void = () => undefined;
  #onIdle: (() => void) | undefined;
  #isShutDown = false;

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock;
    this.#observer = options.observer ?? {};
    this.#firstRetry = options.firstRetry ?? 5;
    this.#longestRetry = options.longestRetry ?? 1_000_000;
    this.#retries = new TokenBucket(options.retryLimit ?? { perSecond: 10, burst: 100 });
  }

  /** Calls `run` synchronously whenever a key may be ready. One listener; it must not throw. */
  onReady(run: () => void): void {
    this.#onReady = run;
  }

  /** Raises the priority of a waiting key; no effect after a shutdown. */
  add(key: string, priority: Priority = "live"): void {
    if (this.#isShutDown) return;
    const item = this.#items.get(key);
    if (item === undefined) this.#enqueue(key, priority);
    else if (item.state === "waiting") this.#raise(key, item, priority);
    else this.#markAgain(item, priority);
  }

  /** Adds the key after a delay, or earlier if that is pending. Taking the key cancels it. */
  addAfter(key: string, delay: Millis): void {
    if (this.#isShutDown) return;
    if (delay <= 0) return this.add(key);
    const at = this.#clock.monotonic() + delay;
    const present = this.#delays.timeOf(key);
    if (present !== undefined && present <= at) return;
    this.#delays.set(key, at);
    this.#arm();
  }

  /** Adds the key after a delay that doubles with every call until `forget`. */
  addRateLimited(key: string): void {
    if (this.#isShutDown) return;
    this.#observer.retried?.();
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const own = Math.min(this.#longestRetry, this.#firstRetry * 2 ** Math.min(failures, 40));
    this.addAfter(key, Math.max(own, this.#retries.reserve(this.#clock.monotonic())));
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The next key, by priority; undefined if none is ready. It is the caller's until `done`. */
  take(): string | undefined {
    const [key, item] = this.#next("live") ?? this.#next("owed") ?? this.#next("background") ?? [];
    if (key === undefined || item === undefined) return undefined;
    const now = this.#clock.monotonic();
    this.#observer.taken?.(now - item.since);
    this.#depth--;
    item.state = "processing";
    item.since = now;
    this.#processing.add(key);
    this.#delays.delete(key);
    return key;
  }

  done(key: string): void {
    const item = this.#items.get(key);
    if (item === undefined || item.state === "waiting") throw new Error(`the key "${key}" is not being processed`);
    this.#observer.done?.(this.#clock.monotonic() - item.since);
    this.#items.delete(key);
    this.#processing.delete(key);
    if (item.state === "again") this.#enqueue(key, item.againPriority);
    this.#checkIdle();
  }

  stats(): QueueStats {
    let oldest: Millis | undefined;
    for (const key of this.#processing) {
      // The set keeps the order of taking.
      oldest = this.#items.get(key)?.since;
      break;
    }
    return {
      depth: this.#depth,
      processing: this.#processing.size,
      delayed: this.#delays.size,
      longestRunning: oldest === undefined ? 0 : this.#clock.monotonic() - oldest,
    };
  }

  /** Drops waiting keys. Keys being processed are still finished with `done`. */
  shutdown(): void {
    this.#stopIntake();
    for (const lane of priorities) this.#drop(lane);
    for (const item of this.#items.values()) if (item.state === "again") item.state = "processing";
    this.#checkIdle();
  }

  /** Waits until all present keys are done, at most `timeout`. True if they are. */
  async shutdownWithDrain(timeout: Millis): Promise<boolean> {
    this.#stopIntake();
    const idle = deferred<boolean>();
    this.#onIdle = () => idle.resolve(true);
    const cancel = this.#clock.after(timeout, () => idle.resolve(false));
    this.#checkIdle();
    const isDrained = await idle.promise;
    cancel();
    this.shutdown();
    return isDrained;
  }

  #stopIntake(): void {
    this.#isShutDown = true;
    this.#delays.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #drop(lane: Priority): void {
    for (let next = this.#next(lane); next !== undefined; next = this.#next(lane)) {
      this.#items.delete(next[0]);
      this.#depth--;
    }
  }

  #checkIdle(): void {
    if (this.#items.size > 0 || this.#onIdle === undefined) return;
    this.#onIdle();
    this.#onIdle = undefined;
  }

  #enqueue(key: string, priority: Priority): void {
    this.#observer.added?.();
    this.#items.set(key, { state: "waiting", priority, againPriority: "background", since: this.#clock.monotonic() });
    this.#lanes[priority].push(key);
    this.#depth++;
    this.#onReady();
  }

  #raise(key: string, item: Item, priority: Priority): void {
    const { priority: before } = item;
    if (!isHigher(priority, before)) return;
    item.priority = priority;
    this.#lanes[priority].push(key);
    // Its old place is skipped; such places must not pile up.
    const lane = this.#lanes[before];
    if (lane.size > 64 && lane.size > 2 * this.#depth) lane.keep((other) => this.#isWaitingIn(before, other));
  }

  #markAgain(item: Item, priority: Priority): void {
    if (item.state !== "again" || isHigher(priority, item.againPriority)) item.againPriority = priority;
    item.state = "again";
  }

  /** Skips keys that were raised to another lane. */
  #next(lane: Priority): readonly [string, Item] | undefined {
    for (;;) {
      const key = this.#lanes[lane].shift();
      if (key === undefined) return undefined;
      const item = this.#items.get(key);
      if (item !== undefined && this.#isWaitingIn(lane, key)) return [key, item];
    }
  }

  #isWaitingIn(lane: Priority, key: string): boolean {
    const item = this.#items.get(key);
    return item?.state === "waiting" && item.priority === lane;
  }

  #arm(): void {
    const next = this.#delays.next();
    if (next === undefined || (this.#timer !== undefined && this.#timer.at <= next)) return;
    this.#timer?.cancel();
    this.#timer = {
      at: next,
      cancel: this.#clock.after(Math.ceil(next - this.#clock.monotonic()), () => this.#ripen()),
    };
  }

  #ripen(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    for (let key = this.#delays.takeDue(now); key !== undefined; key = this.#delays.takeDue(now)) this.add(key);
    this.#arm();
  }
}
