import { cutLines, type LineFrames } from "../worker-api/line-frames.ts";

/** How much one batch holds at most. */
export interface BatchLimits {
  readonly lines: number;
  readonly bytes: number;
}

/** A batch on its way and one that gathers stay far below the 8 MiB that a worker may take of the aggregator. */
export const usualBatchLimits: BatchLimits = { lines: 10_000, bytes: 2 * 1024 * 1024 };

/**
 * Sends lines in batches, one at a time: wharf-api keeps lines in the order in which they arrive, so a batch that is sent again after a lost
 * connection must not be overtaken by the next one. Lines that are added while nothing is on its way are sent at once; lines that are added
 * meanwhile gather and go together, so that a quiet log arrives line by line and a busy one in large pieces, without a timer. `add` waits while
 * a full batch gathers behind one that is on its way: then nothing more is read from the worker, whose store keeps it.
 */
export class LineForwarder {
  readonly #send: (lines: LineFrames) => Promise<void>;
  readonly #limits: BatchLimits;
  #sending: Promise<void> | undefined;
  #waiting: Buffer[] = [];
  #waitingLines = 0;
  #waitingBytes = 0;
  #failure: { readonly thrown: unknown } | undefined;

  /** `send` resolves when the lines are accepted, and retries by itself while that makes sense: its rejection ends everything. */
  constructor(send: (lines: LineFrames) => Promise<void>, limits: BatchLimits = usualBatchLimits) {
    this.#send = send;
    this.#limits = limits;
  }

  /** Takes lines. Resolves when more may come; rejects with what `send` has rejected with. */
  async add(frames: LineFrames): Promise<void> {
    for (const { bytes, lines } of cutLines(frames, this.#limits)) {
      if (this.#waitingLines + lines > this.#limits.lines) await this.#sendFull();
      this.#waiting.push(bytes);
      this.#waitingLines += lines;
      this.#waitingBytes += bytes.length;
      if (this.#waitingLines >= this.#limits.lines || this.#waitingBytes >= this.#limits.bytes) await this.#sendFull();
    }
    if (this.#sending === undefined) this.#begin();
    this.#throwFailure();
  }

  /** Resolves when every line that was added is accepted. */
  async flush(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending;
    this.#throwFailure();
  }

  /** Resolves when the batch that has gathered is on its way, which it is as soon as the one before it is accepted. */
  async #sendFull(): Promise<void> {
    if (this.#sending === undefined) this.#begin();
    else await this.#sending;
    this.#throwFailure();
  }

  #begin(): void {
    if (this.#waiting.length === 0 || this.#failure !== undefined) return;
    const frames = { bytes: Buffer.concat(this.#waiting), lines: this.#waitingLines };
    this.#waiting = [];
    this.#waitingLines = this.#waitingBytes = 0;
    this.#sending = this.#send(frames)
      .catch((thrown: unknown) => {
        this.#failure ??= { thrown };
      })
      .then(() => {
        this.#sending = undefined;
        // The lines that have gathered meanwhile must not wait for the next one.
        this.#begin();
      });
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }
}
