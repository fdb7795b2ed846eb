import { type Millis, systemClock } from "#lib/base/index.ts";

/** Long enough that only what hangs runs into it, on the busiest machine; shorter than a test may take, so that the place is told. */
const patience: Millis = 40_000;

/** Resolves when `holds` does, looking once per turn of the event loop; rejects when it never does. For conditions without an event. */
export async function waitUntil(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = systemClock.monotonic() + patience;
  while (!(await holds())) {
    if (systemClock.monotonic() > end) throw new Error(`the condition did not come true in ${patience / 1000} s`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
