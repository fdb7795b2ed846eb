import type { ServerResponse } from "node:http";
import type { Clock, Millis } from "#lib/base/index.ts";

export interface ReaderLimits {
  /** For one piece of at most 64 KiB: 2 KB a second. */
  readonly takeMs: Millis;
  /** Readers waited for at once; beyond it the longest waiting are cut. */
  readonly maxWaiting: number;
  /** Even beyond the limit nobody is cut sooner. */
  readonly patienceMs: Millis;
}

// Below `Limits.maxReadingRequests`, so that other readers find a place.
const defaultReaderLimits: ReaderLimits = { takeMs: 30_000, maxWaiting: 200, patienceMs: 2000 };
const sweepMs = 1000;

/** Cuts slow readers, which hold memory and a request's place. Watches (own limit) and logs (for people) are exempt. */
export class SlowReaders {
  readonly buffers = new SendBuffers();
  readonly #clock: Clock;
  readonly #limits: ReaderLimits;
  /** Since when, the longest first. */
  readonly #waiting = new Map<ServerResponse, Millis>();
  /** Ended in this turn of the event loop; nearly all are taken at once. */
  #ended: ServerResponse[] = [];
  #isSweeping = false;
  #cut = 0;

  constructor(clock: Clock, limits: Partial<ReaderLimits> = {}) {
    this.#clock = clock;
    this.#limits = { ...defaultReaderLimits, ...limits };
  }

  get cut(): number {
    return this.#cut;
  }

  /** Like the function `drained`, within the limits. */
  async drained(response: ServerResponse): Promise<void> {
    if (!response.writableNeedDrain || response.destroyed) return;
    this.#wait(response);
    await drained(response);
    this.#waiting.delete(response);
  }

  /** True when the connection has taken the bytes, whose memory may be reused; false when the reader is gone. */
  async write(response: ServerResponse, bytes: Buffer): Promise<boolean> {
    this.#wait(response);
    const isTaken = await new Promise<boolean>((resolve) => {
      const gone = (): void => resolve(false);
      response.on("close", gone);
      response.write(bytes, (error) => {
        response.off("close", gone);
        resolve(error === undefined || error === null);
      });
    });
    this.#waiting.delete(response);
    return isTaken;
  }

  /** Everything has been written; the rest must be taken within the limits. */
  ended(response: ServerResponse): void {
    if (this.#ended.push(response) > 1) return;
    setImmediate(() => {
      for (const one of this.#ended.splice(0)) if (!isTaken(one)) this.#wait(one);
    });
  }

  #wait(response: ServerResponse): void {
    this.#waiting.delete(response);
    this.#waiting.set(response, this.#clock.monotonic());
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    this.#clock.after(sweepMs, () => this.#sweep());
  }

  /** One sweep per second: a timer per piece would cost more than the piece. */
  #sweep(): void {
    const now = this.#clock.monotonic();
    const { takeMs, maxWaiting, patienceMs } = this.#limits;
    for (const [response, since] of this.#waiting) {
      const most = this.#waiting.size > maxWaiting ? patienceMs : takeMs;
      if (!isTaken(response) && now - since < most) continue;
      this.#waiting.delete(response);
      if (isTaken(response)) continue;
      this.#cut += 1;
      response.destroy();
      // A pipelined answer has no connection yet; it goes with those before it.
      if (response.socket === null) response.req.socket.destroy();
    }
    this.#isSweeping = this.#waiting.size > 0;
    if (this.#isSweeping) this.#clock.after(sweepMs, () => this.#sweep());
  }
}

const isTaken = (response: ServerResponse): boolean => response.writableFinished || response.destroyed;

/** Resolves when the reader took the bytes or is gone. Never rejects. Bounds the buffer for slow readers. */
export function drained(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return Promise.resolve();
  // Plain listeners: signals would cost a long list a tenth of its time.
  return new Promise((resolve) => {
    const settle = (): void => {
      response.off("drain", settle).off("close", settle);
      resolve();
    };
    response.on("drain", settle).on("close", settle);
  });
}

/** Written to a connection at once. */
const sendBufferBytes = 64 * 1024;
/** Buffers kept for the next answers. */
const mostFree = 32;

/** Reused memory: new buffers for every 64 KiB would burden the garbage collector. The connection has a copy. */
export class SendBuffers {
  readonly #free: Buffer[] = [];

  /** Uninitialised. */
  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(sendBufferBytes);
  }

  /** Nothing may use the buffer any more, not even a connection that was cut. */
  give(buffer: Buffer): void {
    if (this.#free.length < mostFree) this.#free.push(buffer);
  }
}
