import type { EventRing } from "./ring.ts";
import type { StoreState } from "./state.ts";

export interface RetentionLimits {
  readonly everyMs: number;
  /** Rounds an event survives: 10 of 30 s are 5 minutes, independent of the wall clock. */
  readonly looks: number;
  readonly minEvents: number;
  /** Above either limit the oldest events are dropped at any age. */
  readonly maxEvents: number;
  readonly maxBytes: number;
}

export const defaultRetention: RetentionLimits = {
  everyMs: 30_000,
  looks: 10,
  minEvents: 2_000,
  maxEvents: 200_000,
  maxBytes: 8 * 2 ** 20,
};

// Keeps each transaction short.
const eventsPerStep = 2_000;
// Goes below the limits, so that not every commit forces one.
const forcedShare = 0.9;

/** Counts rounds because a clock may be changed. */
export class Retention {
  readonly #limits: RetentionLimits;
  readonly #revisionAtLook: number[] = [];

  constructor(limits: RetentionLimits) {
    this.#limits = limits;
  }

  get everyMs(): number {
    return this.#limits.everyMs;
  }

  /** The largest revision that is old enough and leaves enough events. */
  look(state: StoreState): number {
    const { looks, minEvents } = this.#limits;
    this.#revisionAtLook.push(state.revision);
    const old = this.#revisionAtLook.length > looks ? (this.#revisionAtLook.shift() ?? 0) : 0;
    return Math.max(state.compacted, Math.min(old, state.revision - minEvents));
  }

  isOver(ring: EventRing): boolean {
    return ring.length > this.#limits.maxEvents || ring.bytes > this.#limits.maxBytes;
  }

  forced(state: StoreState): number {
    const { maxEvents, maxBytes } = this.#limits;
    let events = state.ring.length;
    let bytes = state.ring.bytes;
    let through = state.compacted;
    for (const event of state.ring.after(state.compacted)) {
      if (events <= maxEvents * forcedShare && bytes <= maxBytes * forcedShare) break;
      events--;
      bytes -= event.entry.bytes.length;
      through = event.revision;
    }
    return through;
  }
}

/** Splits a compaction into small transactions. */
export function* stepsThrough(state: StoreState, through: number): Generator<number> {
  while (state.compacted < through) yield Math.min(through, state.compacted + eventsPerStep);
}
