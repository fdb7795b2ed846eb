import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { Coalescer } from "./coalescer.ts";

test("a burst is handed over as the newest of each key, at most once in a while", async () => {
  const clock = new FakeClock();
  const flushed: (readonly number[])[] = [];
  const coalescer = new Coalescer<number>(clock, 100, (items) => flushed.push(items));
  for (const value of [1, 2, 3]) coalescer.put("a", value);
  coalescer.put("b", 9);
  await clock.advance(0);
  expect(flushed).toEqual([[3, 9]]);
  coalescer.put("a", 4);
  await clock.advance(99);
  expect(flushed).toHaveLength(1);
  await clock.advance(1);
  expect(flushed[1]).toEqual([4]);
  coalescer.put("a", 5);
  coalescer.close();
  await clock.advance(1000);
  expect(flushed).toHaveLength(2);
});
