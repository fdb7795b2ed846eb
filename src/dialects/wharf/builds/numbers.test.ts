import { expect, test } from "vitest";
import { numberIn, Numbers } from "./numbers.ts";

test("numbers are given above those that were seen, and one that is out of bounds is not counted from", () => {
  const numbers = new Numbers();
  for (const seen of [7, undefined, 3, Number.MAX_SAFE_INTEGER, 1e12 + 1]) numbers.saw(seen);
  expect([numbers.next(), numbers.next()]).toEqual([8, 9]);
});

test.each([
  ["build-7", 7],
  ["build-1000000000000", 1e12],
  ["build-1000000000001", undefined],
  ["build-007", undefined],
  ["builder-7", undefined],
])("the number of %s is %s", (name, number) => {
  expect(numberIn("build", name)).toBe(number);
});
