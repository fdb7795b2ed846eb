import fc from "fast-check";
import { expect, test } from "vitest";
import { SortedList } from "./sorted-list.ts";

const byNumber = (a: number, b: number): number => a - b;

test("a sorted list holds what a set holds, in order, whatever came and went", () => {
  const change = fc.record({ item: fc.integer({ min: 0, max: 400 }), isAdded: fc.boolean() });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 1000, size: "max" }), (changes) => {
      const list = new SortedList<number>(byNumber);
      const set = new Set<number>();
      for (const { item, isAdded } of changes) {
        if (isAdded) list.add(item);
        else list.delete(item);
        if (isAdded) set.add(item);
        else set.delete(item);
      }
      expect([...list]).toEqual([...set].sort(byNumber));
      expect(list.size).toBe(set.size);
    }),
  );
});

test("a change of a long list costs a handful of comparisons, at either end and in the middle", () => {
  let compared = 0;
  const list = new SortedList<number>((a, b) => {
    compared++;
    return a - b;
  });
  for (let item = 0; item < 100_000; item++) list.add(item * 2);
  for (const item of [-1, 99_999, 200_001]) {
    compared = 0;
    list.add(item);
    list.delete(item);
    // Twice a search among a thousand blocks and one in a block of a hundred, and a comparison for whether it is there.
    expect(compared).toBeLessThan(2 * (11 + 8 + 2));
  }
});

test("an item takes the place of the one that is equal to it, and none where none is", () => {
  const list = new SortedList<{ readonly at: number; readonly is: string }>((a, b) => a.at - b.at);
  for (let at = 0; at < 1000; at += 2) list.add({ at, is: "old" });
  for (const at of [0, 500, 501, 998]) list.replace({ at, is: "new" });
  expect([...list].filter(({ is }) => is === "new").map(({ at }) => at)).toEqual([0, 500, 998]);
  expect([...list].map(({ at }) => at)).toEqual(Array.from({ length: 500 }, (_, at) => 2 * at));
  expect(list.size).toBe(500);
});
