import { describe, expect, test } from "vitest";
import { TokenBucket } from "./token-bucket.ts";

describe("token buckets", () => {
  test("let a burst through, then the rate", () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 3 });
    expect([1, 2, 3, 4].map(() => bucket.tryTake(0))).toEqual([true, true, true, false]);
    expect([bucket.tryTake(99), bucket.tryTake(100), bucket.tryTake(100)]).toEqual([false, true, false]);
    expect([1, 2, 3, 4].map(() => bucket.tryTake(60_000))).toEqual([true, true, true, false]);
  });

  test("tell whoever takes in advance how long to wait", () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 1 });
    expect([bucket.reserve(0), bucket.reserve(0), bucket.reserve(0)]).toEqual([0, 100, 200]);
    expect(bucket.reserve(300)).toBe(0);
  });

  test("gain nothing from a clock that goes back", () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 1 });
    expect([bucket.tryTake(1000), bucket.tryTake(0), bucket.tryTake(50), bucket.tryTake(100)]).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });
});
