import { monitorEventLoopDelay } from "node:perf_hooks";

const histogram = monitorEventLoopDelay({ resolution: 1 });
histogram.enable();

/** Longest time the event loop was held since the last call, in milliseconds. */
export function longestHold(): number {
  const longest = histogram.max / 1e6;
  histogram.reset();
  return Math.max(0, longest - 1);
}
