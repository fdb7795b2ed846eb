import { expect, test } from "vitest";
import { retryDelay } from "./backoff.ts";

test("waits double from half a second to 15 seconds", () => {
  const delays = [1, 2, 3, 4, 5, 6, 7, 1000].map((failures) => retryDelay(failures, () => 0.5));
  expect(delays).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
});

test("waits are spread by a fifth to either side", () => {
  expect(retryDelay(1, () => 0)).toBe(400);
  expect(retryDelay(9, () => 1)).toBe(18_000);
});
