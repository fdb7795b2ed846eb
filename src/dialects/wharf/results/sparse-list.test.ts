import { expect, test } from "vitest";
import { SparseList } from "./sparse-list.ts";

const sum = () => new SparseList<{ at: number; count: number }>(4, (a, b) => ({ at: a.at, count: a.count + b.count }));

test("a fifth entry of four makes two of each two one, and those that come stand twice as far apart", () => {
  const list = sum();
  expect([list.isDue(1023, 0), list.isDue(1024, 0), list.isDue(1, 262_144)]).toEqual([false, true, true]);
  for (const at of [0, 1, 2, 3, 4]) list.add({ at, count: 1 });
  expect(list.entries).toEqual([
    { at: 0, count: 2 },
    { at: 2, count: 2 },
    { at: 4, count: 1 },
  ]);
  expect([list.isDue(2047, 0), list.isDue(2048, 0), list.isDue(1, 524_288)]).toEqual([false, true, true]);
});

test("the last entry before a place is found, at both ends too", () => {
  const list = sum();
  expect(list.lastWhere(() => true)).toBeUndefined();
  for (const at of [10, 20, 30]) list.add({ at, count: 1 });
  const found = [9, 10, 29, 30, 99].map((place) => list.lastWhere(({ at }) => at <= place)?.at);
  expect(found).toEqual([undefined, 10, 20, 30, 30]);
});
