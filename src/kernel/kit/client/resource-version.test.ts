import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareResourceVersions, isAtLeast } from "./resource-version.ts";

describe("resource versions", () => {
  test("are compared as integers of any length", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 80n }), fc.bigInt({ min: 0n, max: 2n ** 80n }), (a, b) => {
        const order = compareResourceVersions(String(a), String(b)) ?? Number.NaN;
        expect(Math.sign(order)).toBe(a < b ? -1 : a > b ? 1 : 0);
      }),
    );
  });

  test.each([
    ["x", "1"],
    ["01", "1"],
    ["", "1"],
    ["-1", "1"],
  ])("%j and %j say nothing", (a, b) => {
    expect(compareResourceVersions(a, b)).toBeUndefined();
    expect(isAtLeast(a, b)).toBe(false);
    expect(isAtLeast(a, a)).toBe(true);
  });
});
