// What one turn of the event loop took of a processor, not the time until the next one: on a machine that is busy with something
// else a thread waits tens of milliseconds for its turn, which says nothing of the program. Collection of garbage counts.

/** Looking costs up to 200 us in a process of many threads, and wakes it: every millisecond it was an eighth of what was measured, every fifth 3 %. */
const tickMs = 20;

/** Two clocks at one instant, in milliseconds: the wall's, and what this process has spent with all its threads. */
export interface Instant {
  readonly wallMs: number;
  readonly cpuMs: number;
}

function now(): Instant {
  const { user, system } = process.cpuUsage();
  return { wallMs: performance.now(), cpuMs: (user + system) / 1000 };
}

/**
 * Finds the longest turn from looks at both clocks, one a tick: a turn took no longer than the time between two looks, and no more
 * than what all threads have spent in it. Turns shorter than a tick are not told apart.
 */
export class LongestTurn {
  readonly #now: () => Instant;
  #last: Instant;
  #longest = 0;

  constructor(clocks: () => Instant) {
    this.#now = clocks;
    this.#last = clocks();
  }

  tick(): void {
    const at = this.#now();
    this.#longest = Math.max(this.#longest, Math.min(at.wallMs - this.#last.wallMs, at.cpuMs - this.#last.cpuMs));
    this.#last = at;
  }

  /** The longest since the last call; the turn it is called in counts for neither. */
  read(): number {
    const longest = this.#longest;
    this.#last = this.#now();
    this.#longest = 0;
    return longest;
  }
}

const turns = new LongestTurn(now);
let timer: NodeJS.Timeout | undefined;

/** The longest that one turn of the event loop kept the main thread busy since the last call, in milliseconds. Counting begins with the first call. */
export function longestHold(): number {
  timer ??= setInterval(() => turns.tick(), tickMs).unref();
  return turns.read();
}
