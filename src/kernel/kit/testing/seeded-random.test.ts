import { expect, test } from "vitest";
import { seededRandom } from "./seeded-random.ts";

test("a seed gives the same numbers every time, spread over [0, 1)", () => {
  const numbers = Array.from({ length: 1000 }, seededRandom(42));
  expect(numbers).toEqual(Array.from({ length: 1000 }, seededRandom(42)));
  expect(Array.from({ length: 5 }, seededRandom(43))).not.toEqual(numbers.slice(0, 5));
  expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...numbers)).toBeLessThan(1);
  const mean = numbers.reduce((sum, number) => sum + number, 0) / 1000;
  expect(Math.abs(mean - 0.5)).toBeLessThan(0.05);
});
