import fc from "fast-check";
import { expect, test } from "vitest";
import { compareVersions } from "./preferred-version.ts";

test("versions come in the order in which clients prefer them", () => {
  const ordered = [
    "v10",
    "v2",
    "v1",
    "v11beta2",
    "v10beta3",
    "v3beta1",
    "v12alpha1",
    "v11alpha2",
    "foo1",
    "foo10",
    "v0",
    "v01",
    "v1beta0",
    "v1gamma1",
  ];
  expect([...ordered].reverse().sort(compareVersions)).toEqual(ordered);
});

const version = fc.oneof(
  fc.tuple(fc.nat(12), fc.constantFrom("", "alpha1", "beta1", "beta2")).map(([major, rest]) => `v${major}${rest}`),
  fc.constantFrom("", "v", "x", "v1beta", "V1"),
);

test("the order is total: antisymmetric, transitive, and equal only for equals", () => {
  fc.assert(
    fc.property(version, version, version, (a, b, c) => {
      expect(Math.sign(compareVersions(a, b)) + Math.sign(compareVersions(b, a))).toBe(0);
      expect(compareVersions(a, b) === 0).toBe(a === b);
      if (compareVersions(a, b) < 0 && compareVersions(b, c) < 0) expect(compareVersions(a, c)).toBeLessThan(0);
    }),
    { numRuns: 300 },
  );
});
