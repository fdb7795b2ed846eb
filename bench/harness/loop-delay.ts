import { openSync, readSync } from "node:fs";

// The main thread's own CPU between two ticks of a timer, not the time between them: on a machine that is busy with something
// else a thread waits tens of milliseconds for its turn, which says nothing of the program. Collection of garbage counts.

const tickMs = 1;
const buffer = Buffer.alloc(64);
const statistics = openStatistics();

/** The main thread's, whoever asks; absent where there is no /proc. */
function openStatistics(): number | undefined {
  try {
    return openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
  } catch {
    // Not Linux: what is told then is the time between the ticks.
    return undefined;
  }
}

function spentMs(): number {
  if (statistics === undefined) return performance.now();
  const length = readSync(statistics, buffer, 0, buffer.length, 0);
  // Nanoseconds on a processor, then other things.
  return Number(buffer.toString("latin1", 0, length).split(" ", 1)[0]) / 1e6;
}

/** Finds the longest turn in what `spentMs` tells has been spent so far, looked at once a turn. */
export class LongestTurn {
  readonly #spentMs: () => number;
  #last: number;
  #longest = 0;

  constructor(spentMs: () => number) {
    this.#spentMs = spentMs;
    this.#last = spentMs();
  }

  tick(): void {
    const now = this.#spentMs();
    this.#longest = Math.max(this.#longest, now - this.#last);
    this.#last = now;
  }

  /** The longest since the last call; the turn it is called in counts for neither. */
  read(): number {
    const longest = this.#longest;
    this.#last = this.#spentMs();
    this.#longest = 0;
    return longest;
  }
}

const turns = new LongestTurn(spentMs);
let timer: NodeJS.Timeout | undefined;

/** The longest that one turn of the event loop kept the main thread busy since the last call, in milliseconds. Counting begins with the first call. */
export function longestHold(): number {
  timer ??= setInterval(() => turns.tick(), tickMs).unref();
  return turns.read();
}
