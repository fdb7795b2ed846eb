import type { ServerResponse } from "node:http";
import type { Clock, Millis } from "#lib/base/index.ts";
import { drained } from "./drained.ts";
import { SendBuffers } from "./send-buffers.ts";

/** How slow a reader of an answer may be. */
export interface ReaderLimits {
  /** For the piece that is being sent, 64 KiB at most: 2 KB a second. */
  readonly takeMs: Millis;
  /** Readers that are waited for at once; beyond it those who have been waited for longest are cut. */
  readonly maxWaiting: number;
  /** Nobody is cut for being one of many before so long: every reader of a large answer is waited for now and then. */
  readonly patienceMs: Millis;
}

// Fewer than the places for reading, so that some of those are left for others (`Limits.maxReadingRequests`).
const defaultReaderLimits: ReaderLimits = { takeMs: 30_000, maxWaiting: 200, patienceMs: 2000 };
const sweepMs = 1000;

/**
 * The answers that wait for their readers. Each of them holds a place among the requests under way, a send buffer, as much of it encrypted,
 * and eight bytes for each object that is still to be sent, so that whoever reads too slowly, or not at all, is cut. Watches that run and logs are not looked at: the
 * ones have a bound of their own, the others may be read by a person.
 */
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

  /** How many were cut so far, for metrics. */
  get cut(): number {
    return this.#cut;
  }

  /** `drained`, for so long as the limits say. */
  async drained(response: ServerResponse): Promise<void> {
    if (!response.writableNeedDrain || response.destroyed) return;
    this.#wait(response);
    await drained(response);
    this.#waiting.delete(response);
  }

  /**
   * Writes the bytes, and waits so long, too. True when the connection has taken them, and their memory may be used for something else;
   * false when the reader is gone, or was cut.
   */
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

  /** Nothing more will be written: what is left must be taken within the limits. */
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

  /** Once a second while there is somebody to wait for: a timer for each piece of each answer would cost more than the pieces. */
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
      // One whose turn has not come has no connection yet: it goes with those before it.
      if (response.socket === null) response.req.socket.destroy();
    }
    this.#isSweeping = this.#waiting.size > 0;
    if (this.#isSweeping) this.#clock.after(sweepMs, () => this.#sweep());
  }
}

/** The connection has all of it, or is gone. */
const isTaken = (response: ServerResponse): boolean => response.writableFinished || response.destroyed;
