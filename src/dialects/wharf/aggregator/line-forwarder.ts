import { cutLines, type LineFrames } from "../worker-api/line-frames.ts";

export interface BatchLimits {
  readonly lines: number;
  readonly bytes: number;
}

/** Stays below the 8 MiB that a worker may use of the aggregator. */
export const usualBatchLimits: BatchLimits = { lines: 10_000, bytes: 2 * 1024 * 1024 };

/**
 * Sends lines in batches, one at a time, because wharf-api keeps the order of arrival. Lines that arrive meanwhile are
 * combined, without a timer. `add` waits while a full batch is pending, which stops reading from the worker.
 */
export class LineForwarder {
  readonly #send: (lines: LineFrames) => Promise<void>;
  readonly #limits: BatchLimits;
  #sending: Promise<void> | undefined;
  #waiting: Buffer[] = [];
  #waitingLines = 0;
  #waitingBytes = 0;
  #failure: { readonly thrown: unknown } | undefined;

  /** Rejections are final; `send` retries by itself. */
  constructor(send: (lines: LineFrames) => Promise<void>, limits: BatchLimits = usualBatchLimits) {
    this.#send = send;
    this.#limits = limits;
  }

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

  async flush(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending;
    this.#throwFailure();
  }

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
        // Sends what was collected meanwhile.
        this.#begin();
      });
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }
}
