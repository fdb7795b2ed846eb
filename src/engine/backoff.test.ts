import fc from "fast-check";
import { expect, test } from "vitest";
import { exponential, exponentialRetry, jittered, unitHash } from "./index.ts";
import { hashText } from "./hash.ts";

const firstSeconds = (delay: (n: number) => number, count: number): number[] =>
  Array.from({ length: count }, (_, at) => delay(at + 1) / 1000);

test("(34) the table of backoffs is met exactly", () => {
  const rejected = (n: number) => exponential(n, { base: 5_000, factor: 2, cap: 300_000 });
  expect(firstSeconds(rejected, 8)).toEqual([5, 10, 20, 40, 80, 160, 300, 300]);
  const workflow = (n: number) => exponential(n, { base: 10_000, factor: 2, cap: 300_000 });
  expect(firstSeconds(workflow, 7)).toEqual([10, 20, 40, 80, 160, 300, 300]);
});

const counts = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 1_000_000 }));
const parameters = fc.record({
  base: fc.integer({ min: 0, max: 10_000_000 }),
  factor: fc.double({ min: 0, max: 100, noNaN: true }),
  cap: fc.integer({ min: 0, max: 2 ** 40 }),
});

test("(33) delays grow with n, stay within the cap, and are integers up to a million failures", () => {
  fc.assert(
    fc.property(counts, counts, parameters, (a, b, p) => {
      const [n, m] = [Math.min(a, b), Math.max(a, b)];
      const [few, many] = [exponential(n, p), exponential(m, p)];
      expect(Number.isInteger(many)).toBe(true);
      expect(few).toBeGreaterThanOrEqual(0);
      expect(many).toBeGreaterThanOrEqual(few);
      expect(many).toBeLessThanOrEqual(p.cap);
    }),
  );
});

test("jitter stays within its fraction, and the same seed always gives the same delay", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 1_000_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.string(),
      (delay, fraction, seed) => {
        const spread = jittered(delay, fraction, seed);
        expect(Math.abs(spread - delay)).toBeLessThanOrEqual(delay * fraction + 0.5);
        expect(jittered(delay, fraction, seed)).toBe(spread);
      },
    ),
  );
});

test("a fraction of 0 leaves a delay alone", () => {
  expect(jittered(5_000, 0, "any")).toBe(5_000);
});

test("seeds that differ in one place spread evenly over the unit interval", () => {
  const buckets = Array.from({ length: 10 }, () => 0);
  for (let n = 0; n < 10_000; n++) {
    const bucket = Math.floor(unitHash(`3f0c-uid/step/${n}`) * 10);
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  for (const count of buckets) expect(Math.abs(count - 1_000)).toBeLessThan(150);
});

test("the hash is a fixed function, because stored delays depend on it", () => {
  expect([hashText(""), hashText("a"), hashText("uid/step/1")]).toMatchInlineSnapshot(`
    [
      2872998923,
      444641715,
      2512321813,
    ]
  `);
});

test("a retry policy spreads the exponential delays by its seed", () => {
  const p = { limit: 2, base: 10_000, factor: 2, cap: 300_000 };
  const policy = exponentialRetry({ ...p, seed: "uid/build" });
  expect(policy.limit).toBe(2);
  expect(policy.delay(1)).toBe(jittered(10_000, 0.1, "uid/build/1"));
  expect(policy.delay(2)).toBe(jittered(20_000, 0.1, "uid/build/2"));
  expect(exponentialRetry({ ...p, seed: "x", jitter: 0 }).delay(2)).toBe(20_000);
});
