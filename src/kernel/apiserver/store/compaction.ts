import type { EventRing } from "./ring.ts";
import type { StoreState } from "./state.ts";

export interface RetentionLimits {
  /** Time between two looks. */
  readonly everyMs: number;
  /** Looks an event survives: with one each 30 s, 10 of them make 5 minutes whatever the wall clock does. */
  readonly looks: number;
  /** Events that stay however old they are. */
  readonly minEvents: number;
  /** Above either, the oldest go however young they are. */
  readonly maxEvents: number;
  readonly maxBytes: number;
}

export const defaultRetention: RetentionLimits = {
  everyMs: 30_000,
  looks: 10,
  minEvents: 2_000,
  maxEvents: 200_000,
  maxBytes: 16 * 2 ** 20,
};

// Keeps one transaction, and the turn that prepares it, short. Larger compactions are done in several.
const eventsPerStep = 2_000;
// A forced compaction makes this much room at once, so that it is not needed again for every commit.
const forcedShare = 0.9;

/** Says how far events may be dropped. Counts looks instead of reading a clock, which may be set back or forth. */
export class Retention {
  readonly #limits: RetentionLimits;
  readonly #revisionAtLook: number[] = [];

  constructor(limits: RetentionLimits) {
    this.#limits = limits;
  }

  get everyMs(): number {
    return this.#limits.everyMs;
  }

  /** The regular look: the largest revision that is old enough and leaves enough events. */
  look(state: StoreState): number {
    const { looks, minEvents } = this.#limits;
    this.#revisionAtLook.push(state.revision);
    const old = this.#revisionAtLook.length > looks ? (this.#revisionAtLook.shift() ?? 0) : 0;
    return Math.max(state.compacted, Math.min(old, state.revision - minEvents));
  }

  isOver(ring: EventRing): boolean {
    return ring.length > this.#limits.maxEvents || ring.bytes > this.#limits.maxBytes;
  }

  /** The revision to drop through so that the ring is comfortably below its limits. */
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

/** The steps of a compaction, each small enough for one transaction: revisions to compact through, one after another. */
export function* stepsThrough(state: StoreState, through: number): Generator<number> {
  while (state.compacted < through) yield Math.min(through, state.compacted + eventsPerStep);
}
