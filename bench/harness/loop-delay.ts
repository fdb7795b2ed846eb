import { openSync, readSync } from "node:fs";

// The main thread's own CPU between two ticks of a timer, not the time between them: on a machine that is busy with something
// else a thread waits tens of milliseconds for its turn, which says nothing of the program. Collection of garbage counts.

const tickMs = 1;
const buffer = Buffer.alloc(64);
const statistics = openStatistics();

let longestMs = 0;
let lastMs = 0;
let timer: NodeJS.Timeout | undefined;

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

function tick(): void {
  const now = spentMs();
  longestMs = Math.max(longestMs, now - lastMs);
  lastMs = now;
}

/** The longest that one turn of the event loop kept the main thread busy since the last call, in milliseconds. Counting begins with the first call. */
export function longestHold(): number {
  timer ??= setInterval(tick, tickMs).unref();
  const longest = longestMs;
  lastMs = spentMs();
  longestMs = 0;
  return longest;
}
