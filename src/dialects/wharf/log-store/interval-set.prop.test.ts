import fc from "fast-check";
import { expect, test } from "vitest";
import { IntervalSet, mostIntervals } from "./interval-set.ts";

const numbers = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 80 });

test("is a set of numbers, kept as intervals that do not touch", () => {
  fc.assert(
    fc.property(numbers, (added) => {
      const set = new IntervalSet();
      const model = new Set<number>();
      for (const number of added) {
        expect(set.add(number)).toBe(model.has(number) ? "present" : "added");
        model.add(number);
      }
      for (let number = 0; number <= 42; number++) expect(set.has(number)).toBe(model.has(number));
      expect(set.size).toBe([...model].filter((number) => !model.has(number - 1)).length);
      let prefix = 0;
      while (model.has(prefix + 1)) prefix++;
      expect(set.prefix).toBe(prefix);
      expect(set.highest).toBe(Math.max(0, ...model));
    }),
  );
});

test("the number of intervals is bounded, and filling gaps makes room", () => {
  const set = new IntervalSet();
  for (let at = 1; at <= mostIntervals; at++) set.add(2 * at);
  expect(set.add(2 * mostIntervals + 2)).toBe("full");
  expect(set.has(2 * mostIntervals + 2)).toBe(false);
  expect(set.add(3)).toBe("added");
  expect(set.add(2 * mostIntervals + 2)).toBe("added");
  expect(set.size).toBe(mostIntervals);
});
