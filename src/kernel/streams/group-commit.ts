import { type Deferred, deferred } from "#lib/base/index.ts";

export interface GroupCommitOptions<P> {
  /** How many of the waiting pieces the next write takes, at least one; default: all. */
  readonly fits?: (waiting: readonly P[]) => number;
  /** Resolves when the pieces can be read. */
  readonly write: (batch: readonly P[]) => Promise<void>;
  /** Resolves when everything written before is durable. */
  readonly flush: () => Promise<void>;
  readonly onFailure?: () => void;
}

interface Waiting<P> {
  readonly piece: P;
  readonly written: Deferred<void>;
}

/**
 * Writes pieces in order and flushes for all who wait: at most one write and one flush are in progress, and what comes
 * meanwhile shares the next ones. After a failure nothing more is written: what the files hold is unknown then.
 */
export class GroupCommit<P> {
  readonly #options: GroupCommitOptions<P>;
  #waiting: Waiting<P>[] = [];
  /** The last accepted piece. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();
  #accepted = 0;
  #written = 0;
  #durable = 0;
  /** Neither rejects. */
  #writing: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  #failure: { readonly thrown: unknown } | undefined;

  constructor(options: GroupCommitOptions<P>) {
    this.#options = options;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Throws what has failed. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }

  /** Resolves when the piece can be read. */
  accept(piece: P): Promise<void> {
    this.check();
    const written = deferred<void>();
    this.#waiting.push({ piece, written });
    this.#last = written.promise.catch(() => undefined);
    this.#accepted++;
    this.#writing ??= this.#writeAll();
    return written.promise;
  }

  /** Resolves when everything accepted before is durable. */
  async commit(): Promise<void> {
    const upTo = this.#accepted;
    await this.#last;
    while (this.#durable < upTo && this.#failure === undefined) await this.flush();
    // Files may be opened again after a rejection: writing must have stopped.
    if (this.#failure !== undefined) await this.rest();
    this.check();
  }

  /** Makes what is written durable. Never rejects. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  /** Resolves when nothing is in progress. */
  async rest(): Promise<void> {
    while (this.#writing !== undefined || this.#flushing !== undefined)
      await Promise.all([this.#writing, this.#flushing]);
  }

  async #writeAll(): Promise<void> {
    // Pieces of one turn are one write.
    await Promise.resolve();
    try {
      for (let batch = this.#take(); batch.length > 0; batch = this.#take()) await this.#write(batch);
    } catch (thrown) {
      this.#fail(thrown);
    } finally {
      this.#writing = undefined;
    }
  }

  #take(): readonly Waiting<P>[] {
    if (this.#failure !== undefined || this.#waiting.length === 0) return [];
    const { fits } = this.#options;
    return this.#waiting.splice(0, fits?.(this.#waiting.map(({ piece }) => piece)) ?? this.#waiting.length);
  }

  async #write(batch: readonly Waiting<P>[]): Promise<void> {
    try {
      await this.#options.write(batch.map(({ piece }) => piece));
      this.#written += batch.length;
      for (const { written } of batch) written.resolve();
    } catch (thrown) {
      for (const { written } of batch) written.reject(thrown);
      throw thrown;
    }
  }

  async #flush(): Promise<void> {
    const reached = this.#written;
    try {
      await this.#options.flush();
      this.#durable = reached;
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #fail(thrown: unknown): void {
    this.#failure ??= { thrown };
    for (const { written } of this.#waiting.splice(0)) written.reject(thrown);
    this.#options.onFailure?.();
  }
}
