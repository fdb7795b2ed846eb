import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { Sample } from "#kernel/kit/index.ts";

const resolutionMs = 20;

/** Measures from the first reading on, so servers without monitoring pay nothing. */
export class EventLoopLag {
  #delays: IntervalHistogram | undefined;

  /** Median, 99th percentile and maximum since the last reading, in seconds; empty at first. */
  read(): readonly Sample[] {
    const delays = this.#delays;
    if (delays === undefined) {
      this.#delays = monitorEventLoopDelay({ resolution: resolutionMs });
      this.#delays.enable();
      return [];
    }
    const samples = [50, 99, 100].map((percent) => ({
      labels: { quantile: String(percent / 100) },
      // In nanoseconds, including the timer's resolution.
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
