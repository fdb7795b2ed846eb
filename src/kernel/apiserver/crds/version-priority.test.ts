import { expect, test } from "vitest";
import { compareVersions } from "./version-priority.ts";

test("versions stand in the order of their promise, then of their number, then by name", () => {
  const ordered = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"];
  expect([...ordered].reverse().sort(compareVersions)).toEqual(ordered);
  expect(compareVersions("v1", "v1")).toBe(0);
  expect(compareVersions("x", "x")).toBe(0);
});
