import { expect, test } from "vitest";
import { isWithin, median, quantile, spread } from "./statistics.ts";

test("a spread is the least, the middle and the greatest, in whatever order they came", () => {
  expect(spread([5, 1, 9, 3, 7])).toEqual([1, 5, 9]);
});

test("of an even number of values the upper middle one counts", () => {
  expect(median([4, 1, 3, 2])).toBe(3);
});

test("values that are not known are left out, and nothing gives nothing", () => {
  expect(spread([Number.NaN, 2, Number.NaN])).toEqual([2, 2, 2]);
  expect(spread([])).toEqual([Number.NaN, Number.NaN, Number.NaN]);
});

test("a quantile is a value that was seen", () => {
  const values = Array.from({ length: 100 }, (_, index) => index);
  expect(quantile(values, 0.5)).toBe(50);
  expect(quantile(values, 0.99)).toBe(99);
  expect(quantile(values, 1)).toBe(99);
  expect(quantile([], 0.5)).toBeNaN();
});

test("two figures are alike when they differ by less than the share of the larger", () => {
  expect(isWithin(100, 91, 0.1)).toBe(true);
  expect(isWithin(91, 100, 0.1)).toBe(true);
  expect(isWithin(100, 90, 0.1)).toBe(false);
  expect(isWithin(100, Number.NaN, 0.1)).toBe(false);
});
