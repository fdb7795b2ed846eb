import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { Sample } from "#kernel/kit/index.ts";

const resolutionMs = 20;

/**
 * How late the event loop is: everything this process serves waits that long. Measured from the first reading on, because a timer
 * fifty times a second is not for those whom nobody watches. `close` ends it.
 */
export class EventLoopLag {
  #delays: IntervalHistogram | undefined;

  /** The median, the 99th percentile and the worst since the reading before, in seconds; nothing at the first. */
  read(): readonly Sample[] {
    const delays = this.#delays;
    if (delays === undefined) {
      this.#delays = monitorEventLoopDelay({ resolution: resolutionMs });
      this.#delays.enable();
      return [];
    }
    const samples = [50, 99, 100].map((percent) => ({
      labels: { quantile: String(percent / 100) },
      // Nanoseconds between two ticks of the timer, of which the resolution is no delay.
      value: Math.max(0, delays.percentile(percent) / 1e9 - resolutionMs / 1000),
    }));
    delays.reset();
    return samples;
  }

  close(): void {
    this.#delays?.disable();
    this.#delays = undefined;
  }
}
