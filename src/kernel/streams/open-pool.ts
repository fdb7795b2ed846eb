import type { Cancel, Clock, Millis } from "#lib/base/index.ts";

export interface OpenPoolOptions<T> {
  readonly open: (key: string) => Promise<T>;
  readonly close: (opened: T) => Promise<void>;
  /** Idle ones included, which are closed for others, the longest unused first. */
  readonly mostOpen: number;
  /** Why an opening is refused when all are in use; default: it waits. */
  readonly refusal?: () => Error;
  /** Default: any number. */
  readonly mostIdle?: number;
  /** Idle ones are closed after this time. Default: never. */
  readonly idleFor?: { readonly clock: Clock; readonly ms: Millis };
  /** Whether an idle one can be used again; otherwise it is opened anew. */
  readonly isGood?: (opened: T) => Promise<boolean>;
}

export interface Held<T> {
  readonly opened: T;
  /** Once. False: an operation failed, so that the next one opens it anew. */
  readonly release: (isGood?: boolean) => Promise<void>;
}

interface Entry<T> {
  opening: Promise<T>;
  users: number;
  /** Of an idle one. */
  forget?: Cancel;
}

/** Keeps things open between uses, shared by those who use the same one. Each key is open only once at a time. */
export class OpenPool<T> {
  readonly #options: OpenPoolOptions<T>;
  /** In order of last use. */
  readonly #entries = new Map<string, Entry<T>>();
  readonly #closing = new Map<string, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  #idle = 0;
  #isClosed = false;

  constructor(options: OpenPoolOptions<T>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  isTaken(key: string): boolean {
    return (this.#entries.get(key)?.users ?? 0) > 0;
  }

  /** Opens or shares. Must be released. */
  async acquire(key: string): Promise<Held<T>> {
    const entry = await this.#enter(key);
    try {
      const opened = await entry.opening;
      return { opened, release: (isGood = true) => this.#release(key, entry, isGood) };
    } catch (thrown) {
      await this.#release(key, entry, false);
      throw thrown;
    }
  }

  /** `work` must not use the pool itself. */
  async use<R>(key: string, work: (opened: T) => Promise<R>): Promise<R> {
    const { opened, release } = await this.acquire(key);
    try {
      return await work(opened);
    } finally {
      await release();
    }
  }

  async closeIdle(isMeant: (key: string) => boolean): Promise<void> {
    for (const [key, entry] of this.#entries) if (entry.users === 0 && isMeant(key)) await this.#close(key, entry);
  }

  /** Who comes next opens anew; those in use are closed with their last user. */
  async forget(isMeant: (key: string) => boolean): Promise<void> {
    await this.closeIdle(isMeant);
    for (const key of this.#entries.keys()) if (isMeant(key)) this.#entries.delete(key);
  }

  /** Closes idle ones now and the rest with their last user. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.closeIdle(() => true);
  }

  async #enter(key: string): Promise<Entry<T>> {
    const { mostOpen, refusal } = this.#options;
    for (;;) {
      const known = this.#entries.get(key);
      if (known !== undefined) return this.#share(key, known);
      if (this.#entries.size < mostOpen) return this.#add(key);
      if (await this.#closeOldest()) continue;
      if (refusal !== undefined) throw refusal();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #share(key: string, entry: Entry<T>): Entry<T> {
    const { isGood } = this.#options;
    if (entry.users++ === 0) {
      this.#wake(entry);
      if (isGood !== undefined) entry.opening = entry.opening.then((opened) => this.#checked(key, opened));
    }
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  async #checked(key: string, opened: T): Promise<T> {
    if ((await this.#options.isGood?.(opened)) !== false) return opened;
    // It may fail for the same reason.
    await this.#options.close(opened).catch(() => undefined);
    return await this.#options.open(key);
  }

  #add(key: string): Entry<T> {
    const before = this.#closing.get(key) ?? Promise.resolve();
    const entry: Entry<T> = { opening: before.then(() => this.#options.open(key)), users: 1 };
    entry.opening.catch(() => undefined); // Its users know.
    this.#entries.set(key, entry);
    return entry;
  }

  async #release(key: string, entry: Entry<T>, isGood: boolean): Promise<void> {
    entry.users--;
    const isKnown = this.#entries.get(key) === entry;
    const stays = isGood && isKnown && !(this.#isClosed && entry.users === 0);
    if (isKnown && !stays) this.#entries.delete(key);
    if (entry.users > 0) return;
    await (stays ? this.#rest(key, entry) : this.#end(key, entry));
    this.#waiting.shift()?.();
  }

  async #rest(key: string, entry: Entry<T>): Promise<void> {
    const { mostIdle = Number.POSITIVE_INFINITY, idleFor } = this.#options;
    this.#idle++;
    entry.forget =
      idleFor === undefined
        ? () => undefined
        : idleFor.clock.after(idleFor.ms, () => void (entry.users === 0 && this.#close(key, entry)));
    if (this.#idle > mostIdle) await this.#closeOldest();
  }

  async #closeOldest(): Promise<boolean> {
    for (const [key, entry] of this.#entries) {
      if (entry.users > 0) continue;
      await this.#close(key, entry);
      return true;
    }
    return false;
  }

  async #close(key: string, entry: Entry<T>): Promise<void> {
    if (this.#entries.get(key) !== entry) return;
    this.#entries.delete(key);
    this.#wake(entry);
    await this.#end(key, entry);
  }

  #wake(entry: Entry<T>): void {
    if (entry.forget === undefined) return;
    entry.forget();
    delete entry.forget;
    this.#idle--;
  }

  /** Never rejects: the users know of failures. */
  async #end(key: string, entry: Entry<T>): Promise<void> {
    const done = entry.opening.then((opened) => this.#options.close(opened)).catch(() => undefined);
    this.#closing.set(key, done);
    await done;
    if (this.#closing.get(key) === done) this.#closing.delete(key);
  }
}
