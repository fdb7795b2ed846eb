import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { WakeTimers } from "./wake-timers.ts";

test("keys are woken at their times, the last one told for each", async () => {
  const clock = new FakeClock();
  const woken: string[] = [];
  const timers = new WakeTimers(clock, (key) => void woken.push(`${key} ${clock.monotonic()}`));
  timers.setAfter("a", 500);
  timers.setAt("b", clock.now() + 200);
  timers.setAfter("c", 300);
  timers.setAfter("c", 100);
  timers.setAfter("gone", 50);
  timers.delete("gone");
  await clock.advance(1000);
  expect(woken).toEqual(["c 100", "b 200", "a 500"]);
});

test("who is woken may set the next time, and nobody is woken after the end", async () => {
  const clock = new FakeClock();
  let count = 0;
  const timers: WakeTimers = new WakeTimers(clock, (key) => {
    count += 1;
    timers.setAfter(key, 100);
  });
  timers.setAfter("a", 100);
  await clock.advance(350);
  expect(count).toBe(3);
  timers.close();
  await clock.advance(1000);
  expect(count).toBe(3);
});
