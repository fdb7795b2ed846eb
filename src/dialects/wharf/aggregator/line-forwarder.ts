import { cutLines, type LineFrames } from "../worker-api/line-frames.ts";

/** How much goes at once, and how much may be on its way. */
export interface ForwarderLimits {
  readonly lines: number;
  readonly bytes: number;
  readonly inFlight: number;
}

/** Four batches of a MiB are far below the 8 MiB that a worker may take of the aggregator. */
export const usualForwarderLimits: ForwarderLimits = { lines: 2000, bytes: 1024 * 1024, inFlight: 4 };

/**
 * Puts lines into batches and sends them. What comes while nothing is on its way goes at once; what comes meanwhile gathers and goes together, so
 * that a quiet log is told line by line and a busy one in large pieces, without a timer. Who adds is made to wait when too much is on its way: then
 * nothing more is read from the worker, whose store holds it.
 */
export class LineForwarder {
  readonly #send: (lines: LineFrames) => Promise<void>;
  readonly #limits: ForwarderLimits;
  readonly #inFlight = new Set<Promise<void>>();
  #waiting: Buffer[] = [];
  #waitingLines = 0;
  #waitingBytes = 0;
  #failure: { readonly thrown: unknown } | undefined;

  /** `send` resolves when the lines are taken, and tries again by itself while that makes sense: what it rejects with ends everything. */
  constructor(send: (lines: LineFrames) => Promise<void>, limits: ForwarderLimits = usualForwarderLimits) {
    this.#send = send;
    this.#limits = limits;
  }

  /** Takes lines. Resolves when more may come; rejects with what `send` has rejected with. */
  async add(frames: LineFrames): Promise<void> {
    for (const { bytes, lines } of cutLines(frames, this.#limits)) {
      if (this.#waitingLines + lines > this.#limits.lines) await this.#beginFull();
      this.#waiting.push(bytes);
      this.#waitingLines += lines;
      this.#waitingBytes += bytes.length;
      if (this.#waitingLines >= this.#limits.lines || this.#waitingBytes >= this.#limits.bytes) await this.#beginFull();
    }
    if (this.#inFlight.size === 0) this.#begin();
    this.#throwFailure();
  }

  /** Resolves when everything that was added is taken. */
  async flush(): Promise<void> {
    while (this.#inFlight.size > 0 || this.#waiting.length > 0) {
      if (this.#failure !== undefined) break;
      if (this.#inFlight.size < this.#limits.inFlight) this.#begin();
      await Promise.race(this.#inFlight);
    }
    await Promise.allSettled(this.#inFlight);
    this.#throwFailure();
  }

  /** When there is room for it. */
  async #beginFull(): Promise<void> {
    while (this.#inFlight.size >= this.#limits.inFlight) await Promise.race(this.#inFlight);
    this.#throwFailure();
    this.#begin();
  }

  #begin(): void {
    if (this.#waiting.length === 0 || this.#failure !== undefined) return;
    const frames = { bytes: Buffer.concat(this.#waiting), lines: this.#waitingLines };
    this.#waiting = [];
    this.#waitingLines = this.#waitingBytes = 0;
    const sending = this.#send(frames)
      .catch((thrown: unknown) => {
        this.#failure ??= { thrown };
      })
      .finally(() => {
        this.#inFlight.delete(sending);
        // What has gathered meanwhile must not wait for the next line.
        if (this.#inFlight.size === 0) this.#begin();
      });
    this.#inFlight.add(sending);
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }
}
