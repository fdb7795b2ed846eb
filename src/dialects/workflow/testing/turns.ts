import type { FakeClock } from "#lib/base/index.ts";

/** Lets everything that can happen now happen: each turn may give another one something to do. */
export async function settle(clock: FakeClock): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await clock.advance(0);
}

/** Moves the clock, a little at a time, so that what happens at one moment can lead to more at the next. */
export async function pass(clock: FakeClock, ms: number): Promise<void> {
  const step = Math.max(1, Math.ceil(ms / 20));
  for (let left = ms; left > 0; left -= step) {
    await clock.advance(Math.min(step, left));
    await settle(clock);
  }
}
