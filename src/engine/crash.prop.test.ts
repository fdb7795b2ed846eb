import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "#test/support/property-runs.ts";
import { hashText, isTerminal, type Plan } from "./index.ts";
import { plans, policies } from "./testing/arbitraries.ts";
import { plan } from "./testing/build.ts";
import { type Fate, timeless } from "./testing/history.ts";
import { calmDown, createWorld, current, happen, type Incident } from "./testing/world.ts";

const who = fc.constantFrom(0 as const, 1 as const);

const incidents = (withCancel: boolean): fc.Arbitrary<Incident[]> =>
  fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant("read" as const),
          who,
          stale: fc.constantFrom(0, 0, 0, 1, 2, 5),
          blind: fc.boolean(),
          order: fc.nat({ max: 1 }),
        }),
      },
      {
        weight: 6,
        arbitrary: fc.record({ kind: fc.constant("commit" as const), who, effects: fc.constantFrom(0, 1, 2, 9) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash" as const), who }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant("end" as const), pick: fc.nat({ max: 9 }) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("clean" as const), pick: fc.nat({ max: 9 }) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("tick" as const), ms: fc.constantFrom(1, 10, 60) }) },
      ...(withCancel ? [{ weight: 1, arbitrary: fc.record({ kind: fc.constant("cancel" as const), who }) }] : []),
    ),
    { maxLength: 60, size: "max" },
  );

const fates =
  (seed: number): Fate =>
  (step, attempt) =>
    hashText(`${seed}/${step}/${attempt}`) % 3 === 0 ? "failed" : "succeeded";

function checkWorld(plan: Plan, seed: number, script: readonly Incident[]): ReturnType<typeof createWorld> {
  const world = createWorld(plan, fates(seed));
  for (const incident of script) happen(world, incident);
  const end = calmDown(world);
  expect(world.violations).toEqual([]);
  expect(isTerminal(end.phase)).toBe(true);
  return world;
}

test("(30) (31) whatever fails, each attempt has one child at most, and only one that the store intends", () => {
  const shape = { kinds: ["work", "work", "fan", "timer", "group"] as const, policy: policies };
  fc.assert(
    fc.property(plans(shape), fc.nat(), incidents(true), (plan, seed, script) => {
      checkWorld(plan, seed, script);
    }),
    { numRuns: runs(250) },
  );
});

test("(32) when the faults stop, the run ends as the same children would have made it end without them", () => {
  const shape = { kinds: ["work", "work", "fan", "timer", "group"] as const, calm: true };
  fc.assert(
    fc.property(plans(shape), fc.nat(), incidents(false), (plan, seed, script) => {
      const disturbed = checkWorld(plan, seed, script);
      const quiet = checkWorld(plan, seed, []);
      expect(timeless(current(disturbed))).toEqual(timeless(current(quiet)));
    }),
    { numRuns: runs(250) },
  );
});

test("the world notices reconcilers that act without the freshness rule", () => {
  const single = plan([{ id: "a" }]);
  const look = (stale: number): Incident[] => [
    { kind: "read", who: 0, stale, blind: false, order: 0 },
    { kind: "commit", who: 0, effects: 1 },
  ];
  const script: Incident[] = [...look(0), { kind: "end", pick: 0 }, ...look(0), { kind: "clean", pick: 0 }, ...look(1)];
  const played = (careless: boolean) => {
    const world = createWorld(single, () => "succeeded", careless);
    for (const incident of script) happen(world, incident);
    return world.violations;
  };
  expect(played(false)).toEqual([]);
  expect(played(true)).toEqual([
    "(31) a#1 is created while the store says Succeeded, attempt 1",
    "(30) a#1 is created 2 times",
  ]);
});
