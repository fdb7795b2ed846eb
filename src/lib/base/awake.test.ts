import { expect, test } from "vitest";
import { afterAwake, FakeClock } from "./index.ts";

/** A clock whose timers are all late by what it is told, as those of a process that stood still. */
class LateClock extends FakeClock {
  stall: number = 0;

  override after(delay: number, run: () => void) {
    return super.after(Math.max(delay, this.stall), run);
  }
}

test.each([0, 1, 7, 50, 1_000, 8_000, 12_345])(
  "nobody waits shorter or longer than %d ms where time runs on evenly",
  async (delay) => {
    const clock = new FakeClock();
    let at: number | undefined;
    afterAwake(clock, delay, () => (at = clock.monotonic()));
    await clock.advance(delay - 1);
    expect(at).toBeUndefined();
    await clock.advance(1);
    expect(at).toBe(delay);
  },
);

test.each([
  [1_000, 125],
  [8_000, 1_000],
  [60_000, 1_000],
])(
  "of a limit of %d ms a process that stands still longer has %d ms behind it when it goes on",
  async (limit, part) => {
    const clock = new LateClock();
    let isOver = false;
    clock.stall = 2 * limit;
    afterAwake(clock, limit, () => (isOver = true));
    clock.stall = 0;
    await clock.advance(2 * limit);
    await clock.advance(limit - part - 1);
    expect(isOver).toBe(false);
    await clock.advance(1);
    expect(isOver).toBe(true);
  },
);

test("it is given up at any time, also from within, and twice", async () => {
  const clock = new FakeClock();
  let runs = 0;
  const cancel = afterAwake(clock, 1_000, () => runs++);
  await clock.advance(900);
  cancel();
  cancel();
  await clock.advance(10_000);
  expect(runs).toBe(0);
});
