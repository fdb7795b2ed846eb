import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "#test/support/property-runs.ts";
import { allot, compareClaims, type LimitState } from "./allot.ts";
import { type Claim, holderKey } from "./claims.ts";

const names = ["a", "b", "c"] as const;

const claims: fc.Arbitrary<readonly Claim[]> = fc
  .array(
    fc.record({
      limits: fc.subarray([...names], { minLength: 1 }),
      priority: fc.integer({ min: -1, max: 1 }),
      age: fc.integer({ min: 0, max: 3 }),
    }),
    { maxLength: 12 },
  )
  .map((drawn) =>
    drawn
      .map(({ limits, priority, age }, index) => ({
        holder: { uid: `u${index}`, name: `w${index}`, runNumber: 1, step: "s" },
        limits,
        priority,
        createdAt: `2026-01-01T00:00:0${age}Z`,
        since: undefined,
      }))
      .sort(compareClaims),
  );

const states: fc.Arbitrary<Readonly<Record<string, LimitState>>> = fc.record(
  Object.fromEntries(
    names.map((name) => [
      name,
      fc.record({ places: fc.integer({ min: 0, max: 3 }), taken: fc.integer({ min: 0, max: 3 }) }).map((state) => ({
        ...state,
        holds: () => false,
      })),
    ]),
  ),
);

const free: LimitState = { places: 0, taken: 0, holds: () => false };

test("no limit gives more places than it has", () => {
  fc.assert(
    fc.property(claims, states, (waiting, limits) => {
      const given = allot(waiting, (name) => limits[name] ?? free);
      for (const name of names) {
        const added = given.filter(({ missing }) => missing.includes(name)).length;
        const { places = 0, taken = 0 } = limits[name] ?? {};
        expect(added).toBeLessThanOrEqual(Math.max(0, places - taken));
      }
    }),
    { numRuns: runs(300) },
  );
});

test("nobody gets what one before it waits for and could have", () => {
  fc.assert(
    fc.property(claims, states, (waiting, limits) => {
      const given = new Set(allot(waiting, (name) => limits[name] ?? free).map(({ claim }) => holderKey(claim.holder)));
      for (const [at, claim] of waiting.entries()) {
        if (!given.has(holderKey(claim.holder))) continue;
        for (const name of claim.limits) {
          const before = waiting.slice(0, at).filter((other) => other.limits.includes(name)).length;
          const { places = 0, taken = 0 } = limits[name] ?? {};
          expect(taken + before).toBeLessThan(places);
        }
      }
    }),
    { numRuns: runs(300) },
  );
});

test("when everything is free, the first of all gets what it wants", () => {
  fc.assert(
    fc.property(claims, (waiting) => {
      const given = allot(waiting, () => ({ places: 1, taken: 0, holds: () => false }));
      expect(given[0]?.claim).toBe(waiting[0]);
    }),
    { numRuns: runs(100) },
  );
});
